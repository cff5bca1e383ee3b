#include <cstdlib>
#include <vector>

#include "../../../engine/cpp/linux/dynamic_linking.h"
#include "../error.h"
#include "library.h"

namespace coll {
namespace {

constexpr const char* kProof = "MPI_Init_thread";
constexpr const char* kAdvice = "install Open MPI (libopenmpi3) or MPICH (libmpich12), load its module, or set COLL_MPI_LIB to the file of the library";

bool is_set(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

struct Candidate {
  const char* file;
  const char* how;
};

// MPICH 4 and its relatives (Intel MPI, MVAPICH2, Cray MPICH) share the interface of libmpi.so.12.
constexpr const char* kMpichFiles[] = {"libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1"};
constexpr const char* kOpenMpiFiles[] = {"libmpi.so.40", "libmpi_abi.so.1"};

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  const auto add = [&all](const auto& files, const char* how) {
    for (const char* file : files) all.push_back({file, how});
  };
  if (is_set("OMPI_COMM_WORLD_RANK")) {
    add(kOpenMpiFiles, "mpirun of Open MPI started this process");
  } else if (is_set("PMI_RANK") || is_set("PALS_RANKID") || is_set("MV2_COMM_WORLD_RANK")) {
    add(kMpichFiles, "a launcher that speaks PMI started this process");
  } else if (is_set("PMIX_RANK")) {
    add(kOpenMpiFiles, "a launcher that speaks PMIx started this process");
  }
  add(kOpenMpiFiles, "the first that opened");
  add(kMpichFiles, "the first that opened");
  return all;
}

std::string file_of(void* symbol) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

bool open(Library& library, const char* file) {
  // Loads the symbols globally, because profiling tools look for them, and plug-ins of old releases
  // as well.
  library.handle = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  if (library.handle == nullptr) return false;
  void* const proof = dlsym(library.handle, kProof);
  if (proof == nullptr) return false;
  library.path = file_of(proof);
  return true;
}

// Stops UCX from handling the signal by which WebAssembly reports accesses out of bounds, and from
// replacing functions that manage memory. Neither is needed here. Variables that the user has set
// stay as they are.
void prepare_environment() {
  setenv("UCX_ERROR_SIGNALS", "", 0);
  setenv("UCX_MEM_EVENTS", "n", 0);
}

}  // namespace

void* find_symbol(const Library& library, const char* name) { return dlsym(library.handle, name); }

void stay_loaded() {
  const std::string file = file_of(reinterpret_cast<void*>(&stay_loaded));
  if (!file.empty()) dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

Library find_mpi_library(const std::string& environment) {
  prepare_environment();
  Library library;
  if (!environment.empty()) {
    library.how = "COLL_MPI_LIB names it";
    if (open(library, environment.c_str())) return library;
    const char* const reason = library.handle == nullptr ? dlerror() : "it has no MPI_Init_thread";
    throw Error(ErrorKind::kNoLibrary, "COLL_MPI_LIB=" + environment + " is not an MPI library: " + reason);
  }
  if (void* const loaded = dlsym(RTLD_DEFAULT, kProof)) {
    library.handle = RTLD_DEFAULT;
    library.how = "the process had loaded it";
    library.path = file_of(loaded);
    return library;
  }
  std::string tried;
  for (const auto& [file, how] : candidates()) {
    library.how = how;
    if (open(library, file)) return library;
    if (tried.find(file) == std::string::npos) tried += (tried.empty() ? "" : ", ") + std::string(file);
  }
  throw Error(ErrorKind::kNoLibrary, "no MPI library was found (tried " + tried + "): " + kAdvice);
}

}  // namespace coll

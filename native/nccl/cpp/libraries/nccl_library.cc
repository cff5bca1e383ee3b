#include "nccl_library.h"

#include "dynamic_linking.h"
#include <glob.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <vector>

#include "../error.h"

namespace coll::nccl {
namespace {

constexpr int kOldestVersion = 21801;
constexpr const char* kName = "libnccl.so.2";
constexpr const char* kProof = "ncclGetVersion";

// Before 2.9 the code was 1000 * major + 100 * minor + patch.
std::string in_words(int version) {
  const int major = version < 10000 ? 1000 : 10000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." + std::to_string(version % 100);
}

std::string bind_all(Nccl& nccl) {
  std::string missing;
  const auto set = [&](const char* name, auto& function) { bind(nccl.library, name, function, missing); };
  set(kProof, nccl.get_version);
  set("ncclGetErrorString", nccl.error_string);
  set("ncclGetLastError", nccl.last_error);
  set("ncclGetUniqueId", nccl.unique_id);
  set("ncclCommInitRankConfig", nccl.init);
  set("ncclCommFinalize", nccl.finalize);
  set("ncclCommDestroy", nccl.destroy);
  set("ncclCommAbort", nccl.abort);
  set("ncclCommGetAsyncError", nccl.async_error);
  set("ncclCommCount", nccl.count);
  set("ncclCommUserRank", nccl.rank);
  set("ncclCommSplit", nccl.split);
  set("ncclGroupStart", nccl.group_start);
  set("ncclGroupEnd", nccl.group_end);
  set("ncclAllReduce", nccl.all_reduce);
  set("ncclReduce", nccl.reduce);
  set("ncclBroadcast", nccl.broadcast);
  set("ncclAllGather", nccl.all_gather);
  set("ncclReduceScatter", nccl.reduce_scatter);
  return missing;
}

// Where the wheels nvidia-nccl-cu12 and -cu13 put it.
std::vector<std::string> files_in_environment(const char* variable) {
  const char* const prefix = std::getenv(variable);
  if (prefix == nullptr || *prefix == '\0') return {};
  glob_t found{};
  const std::string pattern = std::string(prefix) + "/lib/python3.*/site-packages/nvidia/nccl/lib/" + kName;
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return files;
}

struct Search {
  Library library;
  std::string failures;

  bool try_file(const std::string& file, const char* how, int flags = 0) {
    void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
    if (handle == nullptr) {
      const char* const said = dlerror();
      if (flags == 0) failures += (failures.empty() ? "" : "; ") + std::string(said ? said : file);
      return false;
    }
    library.handle = handle;
    library.how = how;
    return true;
  }
};

Library find_library(const std::string& file) {
  Search search;
  if (!file.empty()) {
    if (search.try_file(file, "option")) return search.library;
    throw Error(FailureKind::kNoLibrary, "the NCCL library that COLL_NCCL_LIBRARY names cannot be opened: " + search.failures);
  }
  // Profilers and replacements come in by LD_PRELOAD, which a handle would pass by.
  if (dlsym(RTLD_DEFAULT, kProof) != nullptr) {
    search.library.handle = RTLD_DEFAULT;
    search.library.how = "process";
    return search.library;
  }
  if (search.try_file(kName, "loaded", RTLD_NOLOAD) || search.try_file(kName, "system")) return search.library;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    for (const std::string& candidate : files_in_environment(variable)) {
      if (search.try_file(candidate, variable)) return search.library;
    }
  }
  throw Error(FailureKind::kNoLibrary, "NCCL is not installed: " + search.failures +
                                           "; install libnccl2, or set COLL_NCCL_LIBRARY to a libnccl.so.2, such as the one of the Python package nvidia-nccl-cu12");
}

}  // namespace

std::string Nccl::text_of(Result result, Communicator communicator) const {
  std::string text = error_string(result);
  const char* const detail = last_error(communicator);
  if (detail != nullptr && *detail != '\0') text += ": " + std::string(detail);
  if (text.find("driver version is insufficient") != std::string::npos) text += " (no NVIDIA driver was found, or one older than this NCCL needs)";
  return text + " (NCCL result " + std::to_string(result) + ")";
}

Config Nccl::config_for(const std::string& name, bool is_blocking) const {
  // NCCL may look at a name as long as it lives.
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;
  Config config;
  config.blocking = is_blocking ? 1 : 0;
  if (version < static_cast<int>(kNamedConfigVersion)) return config;
  const std::lock_guard<std::mutex> lock(mutex);
  config.name = names->insert(name).first->c_str();
  config.size = kNamedConfigBytes;
  config.version = kNamedConfigVersion;
  return config;
}

Nccl open_nccl(const std::string& file) {
  Nccl nccl;
  nccl.library = find_library(file);
  const std::string missing = bind_all(nccl);
  identify(nccl.library, kProof);
  if (nccl.get_version == nullptr) throw Error(FailureKind::kNoLibrary, (file.empty() ? kName : file) + " is no NCCL: it has no " + kProof);
  nccl.get_version(&nccl.version);
  const std::string found = "NCCL " + in_words(nccl.version) + " (" + nccl.library.path + ")";
  if (nccl.version < kOldestVersion) throw Error(FailureKind::kNoLibrary, found + " is too old: 2.18.1 or newer is needed");
  if (!missing.empty()) throw Error(FailureKind::kNoLibrary, found + " is not whole: it has no " + missing);
  return nccl;
}

}  // namespace coll::nccl

#include "open_mpi.h"

namespace coll {
namespace {

constexpr const char* kVariable = "coll_libnbc_iallreduce_algorithm";
// Values of the variable. With 0, the library chooses an algorithm by itself, which is fast for
// short buffers.
constexpr int kByItself = 0;
constexpr int kReduceScatterAllGather = 3;
constexpr std::size_t kLongBytes = 32768;

template <class Pointer>
void find(const Library& library, Pointer& function, const char* name) {
  function = reinterpret_cast<Pointer>(find_symbol(library, name));
}

}  // namespace

OpenMpi::OpenMpi(const Library& library) : MpiOf(library) {
  find(library, tools_.init, "MPI_T_init_thread");
  find(library, tools_.finalize, "MPI_T_finalize");
  find(library, tools_.index_of, "MPI_T_cvar_get_index");
  find(library, tools_.open, "MPI_T_cvar_handle_alloc");
  find(library, tools_.close, "MPI_T_cvar_handle_free");
  find(library, tools_.read, "MPI_T_cvar_read");
  find(library, tools_.write, "MPI_T_cvar_write");
}

bool OpenMpi::is_complete() const {
  return tools_.init != nullptr && tools_.finalize != nullptr && tools_.index_of != nullptr && tools_.open != nullptr &&
         tools_.close != nullptr && tools_.read != nullptr && tools_.write != nullptr;
}

void OpenMpi::init() {
  MpiOf::init();
  int level = 0;
  if (!is_complete() || tools_.init(OpenMpiAbi::kSerialized, &level) != 0) return;
  has_tools_ = true;
  int index = 0;
  int count = 0;
  if (tools_.index_of(kVariable, &index) != 0 || tools_.open(index, nullptr, &variable_, &count) != 0) {
    variable_ = nullptr;
    return;
  }
  // Keeps a choice of the user. Writing the variable shows whether this release allows it.
  if (tools_.read(variable_, &algorithm_) != 0 || algorithm_ != kByItself || tools_.write(variable_, &algorithm_) != 0) close_variable();
}

void OpenMpi::finalize() {
  close_variable();
  if (has_tools_) tools_.finalize();
  has_tools_ = false;
  MpiOf::finalize();
}

void OpenMpi::prepare_all_reduce(std::size_t bytes) {
  if (variable_ == nullptr) return;
  const int wanted = bytes >= kLongBytes ? kReduceScatterAllGather : kByItself;
  if (wanted == algorithm_) return;
  algorithm_ = wanted;
  const int code = tools_.write(variable_, &wanted);
  if (code != 0) throw Error(ErrorKind::kMpi, std::string("Open MPI refuses to set ") + kVariable, code);
}

void OpenMpi::close_variable() {
  if (variable_ != nullptr) tools_.close(&variable_);
  variable_ = nullptr;
}

}  // namespace coll

#include "mpi.h"

#include "open_mpi.h"

namespace coll {
namespace {

const char in_place = 0;

// Only libraries with the standard interface have the function and report a version above 0.
bool has_standard_abi(const Library& library) {
  const auto version = reinterpret_cast<int (*)(int*, int*)>(find_symbol(library, "MPI_Abi_get_version"));
  int major = 0;
  int minor = 0;
  return version != nullptr && version(&major, &minor) == 0 && major > 0;
}

}  // namespace

const void* const kInPlace = &in_place;

std::unique_ptr<Mpi> open_mpi(const Library& library) {
  if (has_standard_abi(library)) return std::make_unique<MpiOf<StandardAbi>>(library);
  if (find_symbol(library, "ompi_mpi_comm_self") != nullptr) return std::make_unique<OpenMpi>(library);
  return std::make_unique<MpiOf<MpichAbi>>(library);
}

}  // namespace coll

#include "host.h"

#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "backoff.h"

namespace coll {
namespace {

cpu_set_t usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return cores;
  // A machine with more cores than a set has room for.
  const unsigned count = std::min<unsigned>(std::max(std::thread::hardware_concurrency(), 1u), CPU_SETSIZE);
  for (unsigned core = 0; core < count; ++core) CPU_SET(core, &cores);
  return cores;
}

}  // namespace

Host find_host(Mpi& mpi) {
  const MpiHandle comm = mpi.host_comm();
  const int ranks = mpi.size(comm);
  const cpu_set_t own = usable_cores();
  std::vector<cpu_set_t> all(static_cast<std::size_t>(ranks));
  MpiRequest request{};
  mpi.iall_gather(&own, all.data(), sizeof own, mpi.type(MpiType::kByte), comm, request);
  Backoff backoff(WaitingPolicy::of(2, 1));
  while (!mpi.test(request)) backoff.pause();
  mpi.free_comm(comm);
  cpu_set_t together = own;
  for (const cpu_set_t& cores : all) CPU_OR(&together, &together, &cores);
  return {ranks, CPU_COUNT(&together)};
}

}  // namespace coll

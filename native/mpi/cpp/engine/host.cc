#include "host.h"

#include <limits.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "backoff.h"

namespace coll {
namespace {

cpu_set_t usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return cores;
  // Falls back to this number on a machine with more cores than a cpu_set_t has room for.
  const unsigned count = std::min<unsigned>(std::max(std::thread::hardware_concurrency(), 1u), CPU_SETSIZE);
  for (unsigned core = 0; core < count; ++core) CPU_SET(core, &cores);
  return cores;
}

// The name of a host, with its terminating zero.
using HostName = std::array<char, HOST_NAME_MAX + 1>;

// Gathers a value of each rank of the communicator, by rank.
template <class Value>
std::vector<Value> gather_all(Mpi& mpi, MpiHandle comm, const Value& own) {
  std::vector<Value> all(static_cast<std::size_t>(mpi.size(comm)));
  MpiRequest request{};
  mpi.iall_gather(&own, all.data(), sizeof own, mpi.type(MpiType::kByte), comm, request);
  Backoff backoff(WaitingPolicy::of(2, 1));
  while (!mpi.test(request)) backoff.pause();
  return all;
}

}  // namespace

Host find_host(Mpi& mpi) {
  const MpiHandle comm = mpi.host_comm();
  const std::vector<cpu_set_t> all = gather_all(mpi, comm, usable_cores());
  mpi.free_comm(comm);
  cpu_set_t together;
  CPU_ZERO(&together);
  for (const cpu_set_t& cores : all) CPU_OR(&together, &together, &cores);
  return {static_cast<int>(all.size()), CPU_COUNT(&together)};
}

std::vector<std::string> find_host_names(Mpi& mpi) {
  HostName own{};
  gethostname(own.data(), own.size() - 1);
  std::vector<std::string> names;
  for (const HostName& name : gather_all(mpi, mpi.world(), own)) names.emplace_back(name.data());
  return names;
}

}  // namespace coll

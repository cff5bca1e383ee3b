#pragma once

#include <string>
#include <vector>

#include "../libraries/mpi.h"

namespace coll {

// The ranks of this host, and the cores that they may use, all together. A launcher may have bound each rank to a core.
struct Host {
  int ranks;
  int cores;
};

// For the start: blocks until all ranks have called it.
Host find_host(Mpi& mpi);
// The name of each rank's host, by rank. For the start, too.
std::vector<std::string> find_host_names(Mpi& mpi);

}  // namespace coll

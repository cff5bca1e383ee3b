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

// Blocks until all ranks have called it. Used at the start.
Host find_host(Mpi& mpi);
// The name of each rank's host, by rank. Blocks in the same way.
std::vector<std::string> find_host_names(Mpi& mpi);

}  // namespace coll

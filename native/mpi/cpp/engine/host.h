#pragma once

#include "../libraries/mpi.h"

namespace coll {

// The ranks of this host, and the cores that they may use, all together. A launcher may have bound each rank to a core.
struct Host {
  int ranks;
  int cores;
};

// For the start: blocks until all ranks have called it.
Host find_host(Mpi& mpi);

}  // namespace coll

#pragma once

#include "wire.h"

namespace coll::doubles {

// Starts a thread that meets the ranks of one communicator and does for them what they ask together, until all have gone.
bool start_coordinator(nccl::UniqueId& id);

}  // namespace coll::doubles

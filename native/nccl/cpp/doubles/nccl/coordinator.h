#pragma once

#include "wire.h"

namespace coll::doubles {

// Starts a thread that serves the ranks of one communicator until all have gone: it carries out
// what they request together.
bool start_coordinator(nccl::UniqueId& id);

}  // namespace coll::doubles

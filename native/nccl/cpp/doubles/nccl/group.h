#pragma once

#include <functional>

#include "communicator.h"

namespace coll::doubles {

// A call that waits for the end of its group. `prepare` may block until other ranks arrive; all
// calls of a group are prepared at the same time. `start` then submits work to a stream. Receives
// start after the rest of their group, which may send the data that they wait for.
struct Waiting {
  Record record;
  std::function<nccl::Result()> prepare;
  std::function<void()> start;
  bool waits_for_message = false;
};

void begin_group();
// Adds a call to the thread's group. Outside of a group, the call is a group of its own.
nccl::Result add_to_group(Waiting waiting);
// If one call of a group fails, the whole group does nothing, and its end returns the same error.
nccl::Result fail_group(nccl::Result result);
nccl::Result end_group();

}  // namespace coll::doubles

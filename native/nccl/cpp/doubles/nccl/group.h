#pragma once

#include <functional>

#include "communicator.h"

namespace coll::doubles {

// What waits for the end of a group. `prepare` may block until other ranks come; all of a group are prepared at the same time. `start` then
// puts work onto a stream. Receives start after the rest of their group, which may send what they wait for.
struct Waiting {
  Record record;
  std::function<nccl::Result()> prepare;
  std::function<void()> start;
  bool waits_for_message = false;
};

void begin_group();
// Adds to the thread's group; outside of one it is a group of its own.
nccl::Result add_to_group(Waiting waiting);
// One refused call, and nothing of its group happens: the end says so again.
nccl::Result fail_group(nccl::Result result);
nccl::Result end_group();

}  // namespace coll::doubles

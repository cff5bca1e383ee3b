#pragma once

#include "../../libraries/cuda_types.h"

namespace coll::cuda {

struct ContextRecord {
  int device;
};

}  // namespace coll::cuda

namespace coll::doubles {

// The current context of the thread.
extern thread_local cuda::Context current;

// The check at the beginning of every call on the current context: the failure that the control
// file requests, or that there is no current context.
cuda::Result refusal(const char* function);

}  // namespace coll::doubles

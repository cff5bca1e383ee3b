#pragma once

#include "../../libraries/cuda_types.h"

namespace coll::cuda {

struct ContextRecord {
  int device;
};

}  // namespace coll::cuda

namespace coll::doubles {

// The thread's.
extern thread_local cuda::Context current;

// What every call on the current context begins with: what the control file wishes, or that there is none.
cuda::Result refusal(const char* function);

}  // namespace coll::doubles

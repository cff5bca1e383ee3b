#pragma once

#include "kernels.h"

namespace coll {

// The kernels of this name, if they were built and this processor can run them; otherwise null.
const Kernels* find_kernels(const char* name);

// The kernels named `wanted`; if that is null or empty, the widest. Throws Error if they cannot run
// here.
const Kernels& choose_kernels(const char* wanted);

// The kernels in use, selected by COLL_NATIVE_SIMD. They are chosen once, at the first call.
const Kernels& chosen_kernels();

}  // namespace coll

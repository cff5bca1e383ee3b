#pragma once

#include "kernels.h"

namespace coll {

// The kernels called `name`, if they were built and this processor can run them; else null.
const Kernels* find_kernels(const char* name);

// Those called `wanted`, or the widest if it is null or empty. Throws Error where they cannot run here.
const Kernels& choose_kernels(const char* wanted);

// The kernels in use: COLL_NATIVE_SIMD says what is wanted. The choice is made once, at the first call.
const Kernels& chosen_kernels();

}  // namespace coll

#pragma once

#include "kernels.h"

namespace coll {

// The kernels called `name`, if they were built and this processor can run them; else null.
const Kernels* find_kernels(const char* name);

// The kernels in use: those that COLL_NATIVE_SIMD names, or the widest. The choice is made at the first call.
// Throws Error where the variable names kernels that cannot run here.
const Kernels& chosen_kernels();

}  // namespace coll

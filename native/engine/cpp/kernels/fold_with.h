#pragma once

#include "fold.h"
#include "kernels.h"

namespace coll {

// The functions of fold.h, with given kernels instead of the chosen ones.
void fold_with(const Kernels& kernels, const Fold& fold, std::size_t begin, std::size_t count);
void widen_with(const Kernels& kernels, DType dtype, Op op, void* into, const void* from, std::size_t count);
void finish_with(const Kernels& kernels, DType dtype, Op op, int divisor, void* into, const void* from,
                 std::size_t count);

}  // namespace coll

#include "fold.h"

#include "fold_with.h"
#include "simd.h"

namespace coll {

void fold(const Fold& fold, std::size_t begin, std::size_t count) { fold_with(chosen_kernels(), fold, begin, count); }

void widen(DType dtype, Op op, void* into, const void* from, std::size_t count) {
  widen_with(chosen_kernels(), dtype, op, into, from, count);
}

void finish(DType dtype, Op op, int divisor, void* into, const void* from, std::size_t count) {
  finish_with(chosen_kernels(), dtype, op, divisor, into, from, count);
}

}  // namespace coll

#include "fold.h"

#include "simd.h"
#include "stream.h"
#include "fold_with.h"

#include <cstring>

namespace coll {

void fold(const Fold& fold, std::size_t begin, std::size_t count) { fold_with(chosen_kernels(), fold, begin, count); }

void widen(DType dtype, void* into, const void* from, std::size_t count) {
  widen_with(chosen_kernels(), dtype, into, from, count);
}

void finish(DType dtype, Op op, int divisor, void* into, const void* from, std::size_t count) {
  finish_with(chosen_kernels(), dtype, op, divisor, into, from, count);
}

void copy(void* into, const void* from, std::size_t bytes, Write write) {
  if (into == from || bytes == 0) return;
  if (write == Write::kCached) {
    std::memcpy(into, from, bytes);
    return;
  }
  stream(into, from, bytes);
  end_stream();
}

}  // namespace coll

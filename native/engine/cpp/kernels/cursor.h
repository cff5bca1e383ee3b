#pragma once

#include <cstddef>
#include <cstdint>

#include "../error.h"
#include "../tuning.h"
#include "fold.h"
#include "kernels.h"
#include "stream_line.h"

namespace coll {

// The inputs and outputs of a fold, at the next element.
class Cursor {
 public:
  Cursor(const Fold& fold, std::size_t begin)
      : fold_(fold),
        input_bytes_(byte_size(fold.dtype)),
        output_bytes_(byte_size(result_of(fold.dtype, fold.op))),
        at_(begin) {}

  const void* input(int k) const { return static_cast<const std::byte*>(fold_.inputs[k]) + at_ * input_bytes_; }
  void* output(int k) const { return static_cast<std::byte*>(fold_.outputs[k]) + at_ * output_bytes_; }
  std::size_t output_bytes(std::size_t count) const { return count * output_bytes_; }
  void advance(std::size_t count) { at_ += count; }

  // The number of elements before the next cache line of output k.
  std::size_t until_line(int k) const {
    const std::size_t past_line = reinterpret_cast<std::uintptr_t>(output(k)) % kCacheLine;
    return past_line == 0 ? 0 : (kCacheLine - past_line) / output_bytes_;
  }

 private:
  const Fold& fold_;
  std::size_t input_bytes_;
  std::size_t output_bytes_;
  std::size_t at_;
};

// The loops for a whole fold; null if its results have another type than its accumulators and no
// loop converts them.
inline const Combiner* combiner_of(const Kernels& kernels, const Fold& fold) {
  return kernels.combiners[static_cast<int>(fold.dtype)][static_cast<int>(fold.op)];
}

// Converts to accumulators; null if the accumulators have the type of the elements. Throws Error
// for the mean of bools.
inline Convert widening_of(const Kernels& kernels, DType dtype, Op op) {
  if (accumulator_of(dtype, op) == dtype) return nullptr;
  if (dtype == DType::kBool) throw Error("the mean of bool is not defined: convert to a number type first");
  return kernels.widen[static_cast<int>(dtype)];
}

}  // namespace coll

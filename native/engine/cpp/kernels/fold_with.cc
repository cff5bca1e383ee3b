#include "fold_with.h"

#include <algorithm>

#include "cursor.h"
#include "fold_in_blocks.h"
#include "stream_line.h"

namespace coll {
namespace {

void run(Combine loop, const Fold& fold, const Cursor& cursor, std::size_t count) {
  const void* inputs[kMostInputs];
  for (int k = 0; k < fold.input_count; ++k) inputs[k] = cursor.input(k);
  void* const outputs[] = {cursor.output(0), cursor.output(fold.output_count - 1)};
  loop(outputs, inputs, count, fold.divisor);
}

void fold_in_one_loop(Combine loop, const Fold& fold, std::size_t begin, std::size_t count) {
  Cursor cursor(fold, begin);
  const std::size_t head = cursor.output_bytes(count) < tuning::kLeastAligned ? 0 : cursor.until_line(0);
  if (head > 0) run(loop, fold, cursor, head);
  cursor.advance(head);
  run(loop, fold, cursor, count - head);
}

// Whole runs go through the long loop; the elements before and after them go through other loops.
void fold_in_long_loop(CombineLong loop, const Kernels& kernels, const Fold& fold, std::size_t begin, std::size_t count, bool asks_ahead) {
  const Cursor cursor(fold, begin);
  const std::size_t head = cursor.until_line(0);
  const std::size_t tail = (count - head) % (kRunBytes / cursor.output_bytes(1));
  fold_with(kernels, fold, begin, head);
  loop(fold.outputs, fold.output_count, fold.inputs, begin + head, count - head - tail, fold.divisor, asks_ahead);
  fold_with(kernels, fold, begin + count - tail, tail);
}

// Whether cache lines begin at the same elements in all outputs.
bool has_common_lines(const Fold& fold) {
  const Cursor cursor(fold, 0);
  for (int k = 1; k < fold.output_count; ++k) {
    if (cursor.until_line(k) != cursor.until_line(0)) return false;
  }
  return true;
}

// Whole cache lines are streamed; the elements before and after them are not.
void stream_lines(Stream loop, const Kernels& kernels, const Fold& fold, std::size_t begin, std::size_t count) {
  Fold cached = fold;
  cached.write = Write::kCached;
  const Cursor cursor(fold, begin);
  const std::size_t head = std::min(count, cursor.until_line(0));
  const std::size_t tail = (count - head) % (kCacheLine / cursor.output_bytes(1));
  fold_with(kernels, cached, begin, head);
  loop(fold.outputs, fold.output_count, fold.inputs, begin + head, count - head - tail, fold.divisor);
  end_stream();
  fold_with(kernels, cached, begin + count - tail, tail);
}

}  // namespace

void fold_with(const Kernels& kernels, const Fold& fold, std::size_t begin, std::size_t count) {
  if (count == 0) return;
  const Combiner* combiner = combiner_of(kernels, fold);
  const bool has_loop = combiner != nullptr && fold.input_count >= 2 && fold.input_count <= combiner->most_inputs;
  const bool is_cached = has_loop && fold.write == Write::kCached;
  const CombineLong long_loop = is_cached ? combiner->long_loop(fold.input_count) : nullptr;
  if (long_loop != nullptr) {
    const std::size_t bytes = Cursor(fold, begin).output_bytes(count);
    const bool asks_ahead = fold.asks_ahead && bytes >= tuning::kLeastAhead;
    if (asks_ahead || (fold.output_count > kMostOutputs && bytes >= tuning::kLeastLong)) {
      fold_in_long_loop(long_loop, kernels, fold, begin, count, asks_ahead);
      return;
    }
  }
  if (is_cached && fold.output_count <= kMostOutputs) {
    fold_in_one_loop(combiner->loop(fold.input_count, fold.output_count), fold, begin, count);
    return;
  }
  const Stream stream = has_loop && fold.write == Write::kStreamed ? combiner->stream(fold.input_count) : nullptr;
  if (stream != nullptr && has_common_lines(fold)) stream_lines(stream, kernels, fold, begin, count);
  else fold_in_blocks(kernels, fold, begin, count);
}

void widen_with(const Kernels& kernels, DType dtype, Op op, void* into, const void* from, std::size_t count) {
  const Convert convert = widening_of(kernels, dtype, op);
  if (convert != nullptr) convert(into, from, count, 1);
  else copy(into, from, count * byte_size(dtype));
}

void finish_with(const Kernels& kernels, DType dtype, Op op, int divisor, void* into, const void* from,
                 std::size_t count) {
  const Convert convert = (op == Op::kMean ? kernels.divide : kernels.narrow)[static_cast<int>(dtype)];
  if (convert != nullptr) convert(into, from, count, divisor);
  else copy(into, from, count * byte_size(dtype));
}

}  // namespace coll

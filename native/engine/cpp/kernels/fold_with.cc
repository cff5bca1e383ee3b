#include "fold_with.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../error.h"
#include "stream.h"

namespace coll {
namespace {

// What lies between the passes over a few elements: small enough to stay in the first-level cache.
constexpr std::size_t kBlockBytes = 8192;

// Inputs that are widened before they are combined.
constexpr int kMostWidened = 3;

struct alignas(64) Block {
  std::byte bytes[kBlockBytes];
};

struct Blocks {
  Block accumulators;
  Block widened[kMostWidened];
  Block results;
};

int index_of(DType dtype) { return static_cast<int>(dtype); }
int index_of(Op op) { return static_cast<int>(op); }

// A fold's inputs and outputs at the element that is next.
class Cursor {
 public:
  Cursor(const Fold& fold, std::size_t begin)
      : fold_(fold), input_bytes_(byte_size(fold.dtype)), output_bytes_(byte_size(result_of(fold.dtype, fold.op))), at_(begin) {}

  const void* input(int k) const { return static_cast<const std::byte*>(fold_.inputs[k]) + at_ * input_bytes_; }
  void* output(int k) const { return static_cast<std::byte*>(fold_.outputs[k]) + at_ * output_bytes_; }
  std::size_t output_bytes(std::size_t count) const { return count * output_bytes_; }
  void advance(std::size_t count) { at_ += count; }

 private:
  const Fold& fold_;
  std::size_t input_bytes_;
  std::size_t output_bytes_;
  std::size_t at_;
};

// The loop that does all of it in one pass; null where there is none.
Combine whole_loop(const Kernels& kernels, const Fold& fold, int outputs) {
  const Combiner* combiner = kernels.combiners[index_of(fold.dtype)][index_of(fold.op)];
  const bool has_loop = combiner != nullptr && fold.input_count >= 2 && fold.input_count <= kMostInputs;
  return has_loop ? combiner->loop(fold.input_count, outputs) : nullptr;
}

void run(Combine loop, const Fold& fold, const Cursor& cursor, void* const* outputs, std::size_t count) {
  const void* inputs[kMostInputs];
  for (int k = 0; k < fold.input_count; ++k) inputs[k] = cursor.input(k);
  loop(outputs, inputs, count, fold.divisor);
}

// All inputs combined from left to right, as accumulators; returns where they are.
const void* accumulate(const Kernels& kernels, const Fold& fold, const Cursor& cursor, std::size_t count, Blocks& blocks) {
  const Convert widen = kernels.widen[index_of(fold.dtype)];
  const Op op = fold.op == Op::kMean ? Op::kSum : fold.op;
  const Combiner& combiner = *kernels.combiners[index_of(accumulator_of(fold.dtype))][index_of(op)];
  const void* accumulators = nullptr;
  for (int k = 0; k < fold.input_count;) {
    const void* operands[kMostInputs];
    int operand_count = 0;
    if (k > 0) operands[operand_count++] = accumulators;
    const int end = std::min(fold.input_count, k + (widen ? kMostWidened : kMostInputs - operand_count));
    for (int lane = 0; k < end; ++k, ++lane) {
      if (widen) widen(blocks.widened[lane].bytes, cursor.input(k), count, 1);
      operands[operand_count++] = widen ? blocks.widened[lane].bytes : cursor.input(k);
    }
    if (operand_count == 1) return operands[0];
    void* const into = blocks.accumulators.bytes;
    combiner.loop(operand_count, 1)(&into, operands, count, 1);
    accumulators = into;
  }
  return accumulators;
}

// A block's results: all of them at the returned address, and in as many outputs as `written` says.
struct Results {
  const void* address;
  int written;
};

Results fold_block(const Kernels& kernels, const Fold& fold, const Cursor& cursor, std::size_t count, Blocks& blocks) {
  if (fold.input_count == 1 && fold.op != Op::kMean) return {cursor.input(0), 0};
  const bool is_streamed = fold.write == Write::kStreamed;
  const int written = is_streamed ? 0 : std::min(fold.output_count, kMostOutputs);
  void* const outputs[kMostOutputs] = {is_streamed ? blocks.results.bytes : cursor.output(0), cursor.output(written > 1 ? 1 : 0)};
  if (const Combine loop = whole_loop(kernels, fold, std::max(written, 1))) {
    run(loop, fold, cursor, outputs, count);
    return {outputs[0], written};
  }
  const void* const accumulators = accumulate(kernels, fold, cursor, count, blocks);
  finish_with(kernels, fold.dtype, fold.op, fold.divisor, outputs[0], accumulators, count);
  return {outputs[0], std::min(written, 1)};
}

// Elements of the next block. The first one ends with a cache line of the first output, so that later ones start there.
std::size_t block_length(const Fold& fold, const Cursor& cursor) {
  const std::size_t element_bytes = cursor.output_bytes(1);
  const std::size_t most = kBlockBytes / std::max(byte_size(accumulator_of(fold.dtype)), element_bytes);
  const std::size_t past_line = reinterpret_cast<std::uintptr_t>(cursor.output(0)) % alignof(Block);
  return most - past_line / element_bytes;
}

// In the cache first, and from there into every output: for what no loop does in one pass.
void fold_in_blocks(const Kernels& kernels, const Fold& fold, std::size_t begin, std::size_t count) {
  const bool is_streamed = fold.write == Write::kStreamed;
  Blocks blocks;
  Cursor cursor(fold, begin);
  for (std::size_t left = count; left > 0;) {
    const std::size_t length = std::min(left, block_length(fold, cursor));
    const Results results = fold_block(kernels, fold, cursor, length, blocks);
    for (int k = results.written; k < fold.output_count; ++k) {
      if (cursor.output(k) == results.address) continue;
      if (is_streamed) stream(cursor.output(k), results.address, cursor.output_bytes(length));
      else std::memcpy(cursor.output(k), results.address, cursor.output_bytes(length));
    }
    cursor.advance(length);
    left -= length;
  }
  if (is_streamed) end_stream();
}

}  // namespace

void fold_with(const Kernels& kernels, const Fold& fold, std::size_t begin, std::size_t count) {
  if (count == 0) return;
  const bool is_direct = fold.write == Write::kCached && fold.output_count <= kMostOutputs;
  const Combine loop = is_direct ? whole_loop(kernels, fold, fold.output_count) : nullptr;
  if (loop == nullptr) {
    fold_in_blocks(kernels, fold, begin, count);
    return;
  }
  const Cursor cursor(fold, begin);
  void* const outputs[kMostOutputs] = {cursor.output(0), cursor.output(fold.output_count - 1)};
  run(loop, fold, cursor, outputs, count);
}

void widen_with(const Kernels& kernels, DType dtype, void* into, const void* from, std::size_t count) {
  const Convert convert = kernels.widen[index_of(dtype)];
  if (convert != nullptr) convert(into, from, count, 1);
  else copy(into, from, count * byte_size(dtype));
}

void finish_with(const Kernels& kernels, DType dtype, Op op, int divisor, void* into, const void* from, std::size_t count) {
  const Convert convert = op == Op::kMean ? kernels.divide[index_of(dtype)] : kernels.narrow[index_of(dtype)];
  if (convert != nullptr) convert(into, from, count, divisor);
  else if (op == Op::kMean) throw Error("bool has no mean: convert to a number type first");
  else copy(into, from, count * byte_size(dtype));
}

}  // namespace coll

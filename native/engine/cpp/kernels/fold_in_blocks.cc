#include "fold_in_blocks.h"

#include <algorithm>

#include "copy.h"
#include "cursor.h"
#include "fold_with.h"
#include "stream_line.h"

namespace coll {
namespace {

// The most accumulators that are combined at a time: converted inputs, and the sum of those before.
constexpr int kMostWidened = 4;

struct alignas(kCacheLine) Block {
  std::byte bytes[tuning::kFoldBlockBytes];
};

struct Workspace {
  Block accumulators;
  Block widened[kMostWidened];
  Block results;
};

// The inputs of one loop.
struct Operands {
  const void* addresses[kMostInputs];
  int count = 0;

  void add(const void* address) { addresses[count++] = address; }
};

// Combines the first `input_count` inputs from left to right into accumulators, and returns their
// address.
const void* accumulate(const Kernels& kernels, const Fold& fold, const Cursor& cursor, int input_count,
                       std::size_t count, Workspace& space) {
  const Convert widen = widening_of(kernels, fold.dtype, fold.op);
  const Op op = fold.op == Op::kMean ? Op::kSum : fold.op;
  const Combiner& combiner = *kernels.combiners[static_cast<int>(accumulator_of(fold.dtype, fold.op))][static_cast<int>(op)];
  const int most = widen != nullptr ? kMostWidened : combiner.most_inputs;
  void* const accumulators = space.accumulators.bytes;
  for (int k = 0; k < input_count;) {
    Operands operands;
    if (k > 0) operands.add(accumulators);
    const int end = std::min(input_count, k + most - operands.count);
    for (Block* block = space.widened; k < end; ++k, ++block) {
      if (widen != nullptr) widen(block->bytes, cursor.input(k), count, 1);
      operands.add(widen != nullptr ? block->bytes : cursor.input(k));
    }
    if (operands.count == 1) return operands.addresses[0];
    combiner.loop(operands.count, 1)(&accumulators, operands.addresses, count, 1);
  }
  return accumulators;
}

// Whether the last loop can write results. Loops on half types take no accumulators as inputs.
bool ends_in_loop(const Combiner* combiner, const Fold& fold) {
  if (combiner == nullptr || fold.input_count == 1) return false;
  return fold.input_count <= combiner->most_inputs || !is_half(fold.dtype);
}

// Combines inputs until the last loop has room for the rest, then runs the last loop.
void end_in_loop(const Kernels& kernels, const Fold& fold, const Cursor& cursor, void* const* outputs, int output_count,
                 std::size_t count, Workspace& space) {
  const Combiner& combiner = *combiner_of(kernels, fold);
  const int early = fold.input_count <= combiner.most_inputs ? 0 : fold.input_count - (combiner.most_inputs - 1);
  Operands operands;
  if (early > 0) operands.add(accumulate(kernels, fold, cursor, early, count, space));
  for (int k = early; k < fold.input_count; ++k) operands.add(cursor.input(k));
  combiner.loop(operands.count, output_count)(outputs, operands.addresses, count, fold.divisor);
}

// The address of the results, and the number of leading outputs that already contain them.
struct Results {
  const void* address;
  int written;
};

Results fold_block(const Kernels& kernels, const Fold& fold, const Cursor& cursor, std::size_t count, Workspace& space) {
  if (fold.input_count == 1 && fold.op != Op::kMean) return {cursor.input(0), 0};
  const bool is_streamed = fold.write == Write::kStreamed;
  const int written = is_streamed ? 0 : std::min(fold.output_count, kMostOutputs);
  void* const outputs[] = {is_streamed ? space.results.bytes : cursor.output(0), cursor.output(written == 2 ? 1 : 0)};
  if (ends_in_loop(combiner_of(kernels, fold), fold)) {
    end_in_loop(kernels, fold, cursor, outputs, std::max(written, 1), count, space);
    return {outputs[0], written};
  }
  const void* const accumulators = accumulate(kernels, fold, cursor, fold.input_count, count, space);
  finish_with(kernels, fold.dtype, fold.op, fold.divisor, outputs[0], accumulators, count);
  return {outputs[0], std::min(written, 1)};
}

}  // namespace

void fold_in_blocks(const Kernels& kernels, const Fold& fold, std::size_t begin, std::size_t count) {
  Workspace space;
  Cursor cursor(fold, begin);
  const std::size_t most = tuning::kFoldBlockBytes / std::max(byte_size(accumulator_of(fold.dtype, fold.op)), cursor.output_bytes(1));
  for (std::size_t left = count; left > 0;) {
    // The first block ends where a cache line begins, so that the later ones are aligned.
    const std::size_t head = cursor.output_bytes(count) < tuning::kLeastAligned ? 0 : cursor.until_line(0);
    const std::size_t length = std::min(left, head > 0 ? head : most);
    const Results results = fold_block(kernels, fold, cursor, length, space);
    for (int k = results.written; k < fold.output_count; ++k) {
      if (cursor.output(k) == results.address) continue;
      copy_part(cursor.output(k), results.address, cursor.output_bytes(length), fold.write);
    }
    cursor.advance(length);
    left -= length;
  }
  if (fold.write == Write::kStreamed) end_stream();
}

}  // namespace coll

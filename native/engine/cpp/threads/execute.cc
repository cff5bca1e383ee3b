#include "execute.h"

#include <algorithm>

#include "../kernels/fold.h"
#include "../tuning.h"

namespace coll {
namespace {

// A range of elements within one chunk and one piece.
struct ChunkRange {
  const Chunk& chunk;
  std::size_t index;  // of the chunk
  std::size_t piece;
  std::size_t begin;
  std::size_t count;
};

class RangeExecutor {
 public:
  RangeExecutor(const Program& program, const GroupBuffers& buffers, Scratch& scratch)
      : program_(program), buffers_(buffers), scratch_(scratch), input_size_(byte_size(program.dtype)),
        output_size_(byte_size(result_of(program.dtype, program.op))) {}

  void execute(const ChunkRange& range) {
    choose_outputs(range);
    if (output_count_ == 0) return;
    if (range.chunk.is_chain()) execute_chain(range);
    else execute_steps(range);
  }

 private:
  const std::byte* input_of(int rank, const ChunkRange& at) const {
    const std::size_t begin = program_.has_block_in() ? block_begin(rank) : buffers_.begins[at.piece];
    return buffers_.ranks[static_cast<std::size_t>(rank)].inputs[at.piece] + (at.begin - begin) * input_size_;
  }

  std::byte* output_of(int rank, const ChunkRange& at) const {
    const std::size_t begin = program_.has_block_out() ? program_.output_shift(buffers_.length(), at.index) : buffers_.begins[at.piece];
    return buffers_.ranks[static_cast<std::size_t>(rank)].outputs[at.piece] + (at.begin - begin) * output_size_;
  }

  bool is_wanted(int rank) const { return buffers_.ranks[static_cast<std::size_t>(rank)].outputs != nullptr; }

  std::size_t block_begin(int rank) const {
    return buffers_.length() / static_cast<std::size_t>(program_.ranks) * static_cast<std::size_t>(rank);
  }

  void choose_outputs(const ChunkRange& range) {
    const int* receivers = program_.begin(range.chunk.targets);
    output_count_ = 0;
    for (std::size_t i = 0; i < range.chunk.targets.count; ++i) {
      if (!is_wanted(receivers[i])) continue;
      scratch_.outputs[static_cast<std::size_t>(output_count_++)] = output_of(receivers[i], range);
    }
  }

  void execute_chain(const ChunkRange& range) {
    const int* ranks = program_.begin(range.chunk.chain);
    const int count = static_cast<int>(range.chunk.chain.count);
    for (int i = 0; i < count; ++i) scratch_.inputs[static_cast<std::size_t>(i)] = input_of(ranks[i], range);
    if (program_.moves()) {
      for (int i = 0; i < output_count_; ++i) {
        coll::copy(scratch_.outputs[static_cast<std::size_t>(i)], scratch_.inputs[0], range.count * input_size_, write_of(count));
      }
      return;
    }
    fold({program_.dtype, program_.op, program_.ranks, scratch_.inputs.data(), count, scratch_.outputs.data(), output_count_,
          write_of(count), asks_ahead(count)},
         0, range.count);
  }

  bool is_streamed() const { return buffers_.length() * output_size_ >= buffers_.streamed_bytes; }

  // Processors prefetch up to two streams best by themselves, and slots are in a cache anyway.
  bool asks_ahead(int input_count) const { return buffers_.may_stream && (input_count > 2 || !is_streamed()); }

  // Writing past the caches pays if no output is an input.
  Write write_of(int input_count) const {
    if (!buffers_.may_stream || !is_streamed()) return Write::kCached;
    for (int i = 0; i < output_count_; ++i) {
      const void* output = scratch_.outputs[static_cast<std::size_t>(i)];
      for (int k = 0; k < input_count; ++k) {
        if (scratch_.inputs[static_cast<std::size_t>(k)] == output) return Write::kCached;
      }
    }
    return Write::kStreamed;
  }

  void execute_steps(const ChunkRange& range) {
    for (std::size_t done = 0; done < range.count; done += scratch_.block()) {
      const std::size_t count = std::min(scratch_.block(), range.count - done);
      load(range, done, count);
      for (std::size_t i = 0; i < range.chunk.step_count; ++i) {
        execute_step(program_.steps[range.chunk.first_step + i], count);
      }
      store(range, done, count);
    }
  }

  void load(const ChunkRange& range, std::size_t done, std::size_t count) {
    for (int rank = 0; rank < program_.ranks; ++rank) {
      if (!program_.contributes(rank, range.index)) continue;
      const std::byte* from = input_of(rank, range) + done * input_size_;
      if (program_.moves()) coll::copy(scratch_.registers(rank), from, count * input_size_);
      else widen(program_.dtype, program_.op, scratch_.registers(rank), from, count);
    }
  }

  void execute_step(const Step& step, std::size_t count) {
    const int* operands = program_.begin(step.operands);
    const DType wide = program_.accumulator();
    void* const to = scratch_.registers(step.to);
    if (step.operands.count == 1) {
      if (operands[0] != step.to) coll::copy(to, scratch_.registers(operands[0]), count * byte_size(wide));
      return;
    }
    const int operand_count = static_cast<int>(step.operands.count);
    for (int i = 0; i < operand_count; ++i) scratch_.inputs[static_cast<std::size_t>(i)] = scratch_.registers(operands[i]);
    const Op op = program_.op == Op::kMean ? Op::kSum : program_.op;
    fold({wide, op, 1, scratch_.inputs.data(), operand_count, &to, 1}, 0, count);
  }

  void store(const ChunkRange& range, std::size_t done, std::size_t count) {
    const int* receivers = program_.begin(range.chunk.targets);
    int written = 0;
    for (std::size_t i = 0; i < range.chunk.targets.count && written < output_count_; ++i) {
      if (!is_wanted(receivers[i])) continue;
      std::byte* into = static_cast<std::byte*>(scratch_.outputs[static_cast<std::size_t>(written++)]) + done * output_size_;
      if (program_.moves()) coll::copy(into, scratch_.registers(receivers[i]), count * output_size_);
      else finish(program_.dtype, program_.op, program_.ranks, into, scratch_.registers(receivers[i]), count);
    }
  }

  const Program& program_;
  const GroupBuffers& buffers_;
  Scratch& scratch_;
  const std::size_t input_size_;
  const std::size_t output_size_;
  int output_count_ = 0;
};

}  // namespace

void Scratch::fit(const Program& program) {
  std::size_t operands = static_cast<std::size_t>(program.ranks);
  bool has_steps = false;
  for (const Chunk& chunk : program.chunks) {
    operands = std::max(operands, chunk.chain.count);
    has_steps = has_steps || !chunk.is_chain();
  }
  for (const Step& step : program.steps) operands = std::max(operands, step.operands.count);
  if (inputs.size() < operands) inputs.resize(operands);
  if (outputs.size() < static_cast<std::size_t>(program.ranks)) outputs.resize(static_cast<std::size_t>(program.ranks));
  if (!has_steps) return;
  const std::size_t size = byte_size(program.accumulator());
  const std::size_t ranks = static_cast<std::size_t>(program.ranks);
  block_ = std::clamp(tuning::kRegisterBytes / (size * ranks), tuning::kLeastRegisterLength, tuning::kMostRegisterLength);
  register_bytes_ = block_ * size;
  if (registers_.size() < register_bytes_ * ranks) registers_.resize(register_bytes_ * ranks);
}

void execute(const Program& program, const GroupBuffers& buffers, std::size_t begin, std::size_t end, Scratch& scratch) {
  if (begin >= end) return;
  RangeExecutor executor(program, buffers, scratch);
  const std::size_t* const begins = buffers.begins;
  std::size_t piece = static_cast<std::size_t>(std::upper_bound(begins, begins + buffers.piece_count + 1, begin) - begins) - 1;
  while (begin < end) {
    while (begins[piece + 1] <= begin) ++piece;
    const ChunkPlace chunk = program.chunk_at(buffers.length(), begin);
    const std::size_t stop = std::min({end, chunk.end, begins[piece + 1]});
    executor.execute({program.chunks[chunk.index], chunk.index, piece, begin, stop - begin});
    begin = stop;
  }
}

}  // namespace coll

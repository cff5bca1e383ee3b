#include "combining.h"

#include <algorithm>

#include "../kernels/fold.h"
#include "../tuning.h"

namespace coll {
namespace {

bool is_converted(const MessageProgram& program) { return program.accumulator() != program.dtype; }

std::size_t block_bytes(const MessageProgram& program) { return tuning::kWidenedLength * byte_size(program.accumulator()); }

}  // namespace

void Combining::fit(const MessageProgram& program) {
  if (operands.size() < program.most_operands) operands.resize(program.most_operands);
  if (!is_converted(program)) return;
  if (inputs_.size() < program.most_operands) inputs_.resize(program.most_operands);
  const std::size_t doubles = (program.most_operands + 1) * block_bytes(program) / sizeof(double);
  if (wide_.size() < doubles) wide_.resize(doubles);
}

void Combining::combine(const MessageProgram& program, const MessageStep& step, void* into, std::size_t count) {
  const bool is_result = program.values[step.value].form == Form::kResult;
  const Operand* const first = program.operands.data() + step.operands.first;
  const bool are_contributions =
      std::all_of(first, first + step.operands.count, [](const Operand& operand) { return operand.form == Form::kContribution; });
  const int operand_count = static_cast<int>(step.operands.count);
  if (is_converted(program) && !(is_result && are_contributions)) {
    combine_converted(program, step, static_cast<std::byte*>(into), count);
    return;
  }
  const Op op = is_result || program.op != Op::kMean ? program.op : Op::kSum;
  fold({program.dtype, op, is_result ? program.ranks : 1, operands.data(), operand_count, &into, 1}, 0, count);
}

void Combining::combine_converted(const MessageProgram& program, const MessageStep& step, std::byte* into, std::size_t count) {
  const bool is_result = program.values[step.value].form == Form::kResult;
  const Op op = program.op == Op::kMean ? Op::kSum : program.op;
  const std::size_t narrow_size = byte_size(program.dtype);
  const std::size_t wide_size = byte_size(program.accumulator());
  const std::size_t result_size = byte_size(dtype_of(program, Form::kResult));
  const auto block = [&](std::size_t i) { return reinterpret_cast<std::byte*>(wide_.data()) + i * block_bytes(program); };
  for (std::size_t done = 0; done < count; done += tuning::kWidenedLength) {
    const std::size_t part = std::min(tuning::kWidenedLength, count - done);
    for (std::size_t i = 0; i < step.operands.count; ++i) {
      const auto* const operand = static_cast<const std::byte*>(operands[i]);
      if (program.operands[step.operands.first + i].form == Form::kPartial) {
        inputs_[i] = operand + done * wide_size;
        continue;
      }
      widen(program.dtype, program.op, block(i), operand + done * narrow_size, part);
      inputs_[i] = block(i);
    }
    void* const wide = is_result ? block(step.operands.count) : into + done * wide_size;
    fold({program.accumulator(), op, 1, inputs_.data(), static_cast<int>(step.operands.count), &wide, 1}, 0, part);
    if (is_result) finish(program.dtype, program.op, program.ranks, into + done * result_size, wide, part);
  }
}

}  // namespace coll

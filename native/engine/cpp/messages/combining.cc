#include "combining.h"

#include <algorithm>

#include "../kernels/fold.h"
#include "../tuning.h"

namespace coll {
void Combining::fit(const MessageProgram& program) {
  if (operands.size() < program.most_operands) operands.resize(program.most_operands);
  if (!is_half(program.dtype) || program.moves()) return;
  if (inputs_.size() < program.most_operands) inputs_.resize(program.most_operands);
  const std::size_t floats = (program.most_operands + 1) * tuning::kWidenedLength;
  if (wide_.size() < floats) wide_.resize(floats);
}

void Combining::combine(const MessageProgram& program, const MessageStep& step, void* into, std::size_t count) {
  const bool is_result = program.values[step.value].form == Form::kResult;
  const Operand* const first = program.operands.data() + step.operands.first;
  const bool are_contributions =
      std::all_of(first, first + step.operands.count, [](const Operand& operand) { return operand.form == Form::kContribution; });
  const int operand_count = static_cast<int>(step.operands.count);
  if (is_half(program.dtype) && !(is_result && are_contributions)) {
    combine_halves(program, step, static_cast<std::byte*>(into), count);
    return;
  }
  const Op op = is_result || program.op != Op::kMean ? program.op : Op::kSum;
  fold({program.dtype, op, is_result ? program.ranks : 1, operands.data(), operand_count, &into, 1}, 0, count);
}

void Combining::combine_halves(const MessageProgram& program, const MessageStep& step, std::byte* into, std::size_t count) {
  const bool is_result = program.values[step.value].form == Form::kResult;
  const Op op = program.op == Op::kMean ? Op::kSum : program.op;
  float* const outcome = wide_.data() + step.operands.count * tuning::kWidenedLength;
  for (std::size_t done = 0; done < count; done += tuning::kWidenedLength) {
    const std::size_t part = std::min(tuning::kWidenedLength, count - done);
    for (std::size_t i = 0; i < step.operands.count; ++i) {
      if (program.operands[step.operands.first + i].form == Form::kPartial) {
        inputs_[i] = static_cast<const float*>(operands[i]) + done;
        continue;
      }
      widen(program.dtype, wide_.data() + i * tuning::kWidenedLength, static_cast<const std::uint16_t*>(operands[i]) + done, part);
      inputs_[i] = wide_.data() + i * tuning::kWidenedLength;
    }
    void* const wide = is_result ? outcome : reinterpret_cast<float*>(into) + done;
    fold({DType::kFloat32, op, 1, inputs_.data(), static_cast<int>(step.operands.count), &wide, 1}, 0, part);
    if (is_result) finish(program.dtype, program.op, program.ranks, reinterpret_cast<std::uint16_t*>(into) + done, outcome, part);
  }
}

}  // namespace coll

#pragma once

#include <cstddef>
#include <vector>

#include "message_program.h"

namespace coll {

// The arithmetic of steps: the same bits as execute() of the threads.
class Combining {
 public:
  // Room for a program's steps.
  void fit(const MessageProgram& program);

  // Operands to be filled in before a call, in their order.
  std::vector<const void*> operands;

  // into[i] = operands[0][i] op operands[1][i] op ..., each in its form. `into` may be one of the operands of the same form, or of another
  // with elements of the same size; otherwise nothing overlaps.
  void combine(const MessageProgram& program, const MessageStep& step, void* into, std::size_t count);

 private:
  void combine_halves(const MessageProgram& program, const MessageStep& step, std::byte* into, std::size_t count);

  std::vector<const void*> inputs_;
  std::vector<float> wide_;  // a block for each operand, and one for the outcome
};

}  // namespace coll

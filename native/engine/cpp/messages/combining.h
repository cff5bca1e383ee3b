#pragma once

#include <cstddef>
#include <vector>

#include "message_program.h"

namespace coll {

// The arithmetic of steps. The results have the same bits as those of execute() for threads.
class Combining {
 public:
  // Allocates memory for the steps of a program.
  void fit(const MessageProgram& program);

  // The operands, in their order. The caller sets them before each call.
  std::vector<const void*> operands;

  // into[i] = operands[0][i] op operands[1][i] op ..., each in its form. `into` may be an operand
  // of the same form, or of another form with elements of the same size; otherwise nothing
  // overlaps.
  void combine(const MessageProgram& program, const MessageStep& step, void* into, std::size_t count);

 private:
  // Combines values in another type than that of the elements.
  void combine_converted(const MessageProgram& program, const MessageStep& step, std::byte* into, std::size_t count);

  std::vector<const void*> inputs_;
  std::vector<double> wide_;  // a block of accumulators for each operand, and one for the result
};

}  // namespace coll

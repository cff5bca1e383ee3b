#pragma once

#include <cstdint>
#include <vector>

#include "message_program.h"

namespace coll {

constexpr int kContributed = -1;  // the version of a chunk that a rank begins with
constexpr int kNothing = -2;

struct RoundStep {
  std::size_t chunk;
  int to;
  Sublist operands;
  Form form = Form::kContribution;
  bool is_needed = false;  // for a result
};

// The steps of all ranks. Versions of a chunk at a rank are known by the step that made them.
struct MessageRounds : Request {
  std::vector<RoundStep> steps;   // round by round
  std::vector<int> ranks_of;      // the operands of all steps
  std::vector<int> versions_of;   // which version of its chunk that is, for each operand
  std::vector<Form> forms_of;     // and its form
};

// Reads and checks the steps as `parse_message_program` promises.
MessageRounds parse_rounds(const std::int32_t* words, std::size_t count);

}  // namespace coll

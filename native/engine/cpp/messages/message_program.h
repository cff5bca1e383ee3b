#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../threads/program.h"

namespace coll {

// What a rank has of a chunk: somebody's contribution in the request's dtype, a combination of some in the accumulator's, or the
// result in the result's. Whatever travels does so in that form.
enum class Form : std::uint8_t { kContribution, kPartial, kResult };

DType dtype_of(const Request& request, Form form);

enum class Where : std::uint8_t { kInput, kOutput, kWork };

// What a rank has of a chunk until it writes the next.
struct Value {
  std::size_t chunk;
  Form form;
  Where where;
  std::size_t work_buffer;  // index in work_buffers, for Where::kWork
};

// Working memory, large enough for a chunk in that form.
struct WorkBuffer {
  std::size_t chunk;
  Form form;
};

// A value that leaves this rank, by its place among the messages from here to there.
struct Departure {
  int to;
  std::size_t index;
};

struct Operand {
  int rank;  // whose message it is; one's own for a value that is here
  Form form;
};

// Makes a value: combines operands from left to right, or copies a single one.
struct MessageStep {
  std::size_t value;
  std::size_t own;     // the value here that is an operand, if one is
  Sublist operands;    // of MessageProgram::operands
  // What must be ahead of it in the memory that it writes: messages from there, and values made of what was there.
  Sublist departures;
  Sublist readers;
};

// What is exchanged with another rank, in this order: sender and receiver derive the same.
struct Peer {
  int rank;
  std::vector<std::size_t> sent;      // values
  std::vector<std::size_t> received;  // steps, of which each takes one
  bool leaves_whole = false;          // nothing is sent before all of these values are there: one message costs less than several
};

// One rank's part of a schedule.
struct MessageProgram : Request {
  int rank;
  std::vector<Value> values;
  std::vector<WorkBuffer> work_buffers;
  std::vector<MessageStep> steps;
  std::vector<Operand> operands;
  std::vector<Departure> departures;
  std::vector<std::size_t> readers;
  std::vector<Peer> peers;         // all others in rank order, or those through whom everything of all others comes
  std::vector<std::size_t> local;  // steps that nothing is received for
  std::size_t most_operands;
};

// Reads a rank's part of a program from the integers
//   kind op dtype ranks root chunks rounds, then for each round
//   number of steps, for each: its chunk, the rank, number of operands, their ranks.
// A step either copies another rank's chunk, or combines the rank's own with others'; operands are in the order of arithmetic. What
// no result depends on is left out. Throws Error for anything that is not a program whose every round can be executed in any order
// of its steps and ends with a result wherever one is due.
MessageProgram parse_message_program(const std::int32_t* words, std::size_t count, int rank);

}  // namespace coll

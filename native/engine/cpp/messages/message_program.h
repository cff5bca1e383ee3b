#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../threads/program.h"
#include "agreement.h"

namespace coll {

// The form of a rank's value of a chunk: a contribution in the request's dtype, a combination of
// some in the accumulator's dtype, or a result in the result's dtype. Values are sent in the form
// that they have.
enum class Form : std::uint8_t { kContribution, kPartial, kResult };

DType dtype_of(const Request& request, Form form);

enum class Where : std::uint8_t { kInput, kOutput, kWork };

// A value of a chunk at this rank, until the rank writes the next one.
struct Value {
  std::size_t chunk;
  Form form;
  Where where;
  std::size_t work_buffer;  // index in work_buffers, for Where::kWork
};

// Working memory for one chunk in this form.
struct WorkBuffer {
  std::size_t chunk;
  Form form;
};

// A message that sends a value of this rank: the receiver, and the index among the messages to it.
struct Departure {
  int to;
  std::size_t index;
};

struct Operand {
  int rank;  // the rank that sends it; one's own for a value of this rank
  Form form;
};

// Computes a value: combines operands from left to right, or copies a single one.
struct MessageStep {
  std::size_t value;
  std::size_t own;     // the operand that is a value of this rank, if there is one
  Sublist operands;    // of MessageProgram::operands
  // The work that must precede this step, because the step overwrites memory: messages sent from
  // that memory, and values computed from its contents.
  Sublist departures;
  Sublist readers;
};

// The relation of another rank to this one in the tree of Agreement::kGathered.
enum class Kinship : std::uint8_t { kNone, kParent, kChild };

// The messages exchanged with another rank, in this order, which both ranks derive alike.
struct Peer {
  int rank;
  std::vector<std::size_t> sent;      // values
  std::vector<std::size_t> received;  // steps: each uses one message
  bool leaves_whole = false;          // sends nothing before all values are ready: one message costs less
  Kinship kinship = Kinship::kNone;
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
  // The peers, by rank: all other ranks, or only those with which this rank exchanges values or
  // agrees.
  std::vector<Peer> peers;
  Agreement agreement = Agreement::kAnnounced;
  std::vector<std::size_t> local;  // steps that receive nothing
  std::size_t most_operands;
};

// Reads a rank's part of a program from the integers
//   kind op dtype ranks root chunks rounds, then for each round
//   number of steps, for each: its chunk, the rank, number of operands, their ranks.
// A step either copies another rank's chunk, or combines the rank's own with those of others;
// operands are in the order of the arithmetic. Steps on which no result depends are left out.
// Throws Error unless the steps of each round can be executed in any order, and every rank that is
// due a result has it at the end.
MessageProgram parse_message_program(const std::int32_t* words, std::size_t count, int rank);

}  // namespace coll

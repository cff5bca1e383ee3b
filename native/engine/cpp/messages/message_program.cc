#include "message_program.h"

#include <algorithm>
#include <utility>

#include "../error.h"
#include "message_rounds.h"

namespace coll {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Takes one rank's part out of the rounds.
class Part {
 public:
  Part(const MessageRounds& rounds, int rank)
      : rounds_(rounds), chunks_(rounds.chunk_count) {
    static_cast<Request&>(part_) = rounds;
    part_.rank = rank;
    part_.most_operands = 1;
    for (int other = 0; other < rounds.ranks; ++other) {
      if (other != rank) part_.peers.push_back({other, {}, {}});
    }
  }

  MessageProgram take() {
    for (const RoundStep& step : rounds_.steps) {
      if (!step.is_needed) continue;
      if (step.to == part_.rank) receive(step);
      else send(step);
    }
    finish_alone();
    return std::move(part_);
  }

 private:
  // A chunk at this rank.
  struct Chunk {
    std::size_t value = kNone;  // the latest
    std::size_t slots[3] = {kNone, kNone, kNone};
    // Of any of its values: the messages that they leave with, and the steps here that read them.
    std::vector<Departure> departures;
    std::vector<std::size_t> readers;
  };

  void send(const RoundStep& step) {
    const int* const ranks = rounds_.ranks_of.data() + step.operands.first;
    if (std::find(ranks, ranks + step.operands.count, part_.rank) == ranks + step.operands.count) return;
    Peer& peer = peer_with(step.to);
    chunks_[step.chunk].departures.push_back({step.to, peer.sent.size()});
    peer.sent.push_back(value_of(step.chunk));
  }

  void receive(const RoundStep& step) {
    const std::size_t index = part_.steps.size();
    MessageStep made{};
    made.operands = {part_.operands.size(), step.operands.count};
    part_.most_operands = std::max(part_.most_operands, step.operands.count);
    for (std::size_t i = step.operands.first; i < step.operands.first + step.operands.count; ++i) {
      const int from = rounds_.ranks_of[i];
      part_.operands.push_back({from, rounds_.forms_of[i]});
      if (from == part_.rank) made.own = value_of(step.chunk);
      else peer_with(from).received.push_back(index);
    }
    add(made, step.chunk, step.form);
    if (step.operands.count > 1) chunks_[step.chunk].readers.push_back(index);
  }

  // Results that are this rank's contribution: where values are moved, or nobody has another.
  void finish_alone() {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      if (!part_.receives(part_.rank, chunk)) continue;
      MessageStep made{};
      made.own = value_of(chunk);
      if (part_.values[made.own].where != Where::kInput) continue;
      made.operands = {part_.operands.size(), 1};
      part_.operands.push_back({part_.rank, Form::kContribution});
      part_.local.push_back(part_.steps.size());
      add(made, chunk, Form::kResult);
    }
  }

  void add(MessageStep& step, std::size_t chunk, Form form) {
    const Value value = value_for(chunk, form);
    step.value = part_.values.size();
    step.departures.first = part_.departures.size();
    for (const Departure& departure : chunks_[chunk].departures) {
      if (is_same_memory(value, part_.values[peer_with(departure.to).sent[departure.index]])) part_.departures.push_back(departure);
    }
    step.departures.count = part_.departures.size() - step.departures.first;
    step.readers.first = part_.readers.size();
    for (const std::size_t reader : chunks_[chunk].readers) {
      if (is_same_memory(value, part_.values[part_.steps[reader].own])) part_.readers.push_back(part_.steps[reader].value);
    }
    step.readers.count = part_.readers.size() - step.readers.first;
    chunks_[chunk].value = part_.values.size();
    part_.values.push_back(value);
    part_.steps.push_back(step);
  }

  // An output may be the input's memory.
  static bool is_same_memory(const Value& value, const Value& other) {
    if (value.where != Where::kWork) return other.where != Where::kWork;
    return other.where == Where::kWork && other.slot == value.slot;
  }

  // What becomes a result is made where that belongs, if it has room.
  Value value_for(std::size_t chunk, Form form) {
    const bool fits = byte_size(dtype_of(part_, form)) == byte_size(dtype_of(part_, Form::kResult));
    if (fits && part_.receives(part_.rank, chunk)) return {chunk, form, Where::kOutput, 0};
    std::size_t& slot = chunks_[chunk].slots[static_cast<int>(form)];
    if (slot == kNone) {
      slot = part_.slots.size();
      part_.slots.push_back({chunk, form});
    }
    return {chunk, form, Where::kWork, slot};
  }

  std::size_t value_of(std::size_t chunk) {
    std::size_t& value = chunks_[chunk].value;
    if (value == kNone) {
      value = part_.values.size();
      part_.values.push_back({chunk, Form::kContribution, Where::kInput, 0});
    }
    return value;
  }

  Peer& peer_with(int rank) { return part_.peers[static_cast<std::size_t>(rank < part_.rank ? rank : rank - 1)]; }

  const MessageRounds& rounds_;
  MessageProgram part_{};
  std::vector<Chunk> chunks_;
};

}  // namespace

DType dtype_of(const Request& request, Form form) {
  if (request.moves() || form == Form::kContribution) return request.dtype;
  return form == Form::kPartial ? accumulator_of(request.dtype) : result_of(request.dtype, request.op);
}

MessageProgram parse_message_program(const std::int32_t* words, std::size_t count, int rank) {
  const MessageRounds rounds = parse_rounds(words, count);
  if (rank < 0 || rank >= rounds.ranks) throw Error("a program for " + std::to_string(rounds.ranks) + " ranks has no rank " + std::to_string(rank));
  return Part(rounds, rank).take();
}

}  // namespace coll

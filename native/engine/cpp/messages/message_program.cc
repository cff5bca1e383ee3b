#include "message_program.h"

#include <algorithm>
#include <utility>

#include "../error.h"
#include "message_rounds.h"

namespace coll {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Extracts the program of one rank from the rounds.
class RankProgramBuilder {
 public:
  RankProgramBuilder(const MessageRounds& rounds, int rank)
      : rounds_(rounds), plan_(agreement_plan(rounds)), chunks_(rounds.chunk_count) {
    static_cast<Request&>(program_) = rounds;
    program_.rank = rank;
    program_.agreement = plan_.agreement;
    program_.most_operands = 1;
    for (int other = 0; other < rounds.ranks; ++other) {
      if (other != rank) program_.peers.push_back({other, {}, {}, false, kinship_of(other)});
    }
  }

  MessageProgram take() {
    for (const RoundStep& step : rounds_.steps) {
      if (!step.is_needed) continue;
      if (step.to == program_.rank) receive(step);
      else send(step);
    }
    finish_alone();
    if (plan_.agreement != Agreement::kAnnounced) leave_out_strangers();
    return std::move(program_);
  }

 private:
  // The state of a chunk at this rank after the rounds read so far.
  struct ChunkState {
    std::size_t value = kNone;  // the latest value
    std::size_t work_buffers[3] = {kNone, kNone, kNone};
    // The messages that send any of its values, and the steps of this rank that read them.
    std::vector<Departure> departures;
    std::vector<std::size_t> readers;
  };

  void send(const RoundStep& step) {
    const int* const ranks = rounds_.ranks_of.data() + step.operands.first;
    if (std::find(ranks, ranks + step.operands.count, program_.rank) == ranks + step.operands.count) return;
    Peer& peer = peer_with(step.to);
    chunks_[step.chunk].departures.push_back({step.to, peer.sent.size()});
    peer.sent.push_back(value_of(step.chunk));
  }

  void receive(const RoundStep& step) {
    const std::size_t index = program_.steps.size();
    MessageStep made{};
    made.operands = {program_.operands.size(), step.operands.count};
    program_.most_operands = std::max(program_.most_operands, step.operands.count);
    for (std::size_t i = step.operands.first; i < step.operands.first + step.operands.count; ++i) {
      const int from = rounds_.ranks_of[i];
      program_.operands.push_back({from, rounds_.forms_of[i]});
      if (from == program_.rank) made.own = value_of(step.chunk);
      else peer_with(from).received.push_back(index);
    }
    add(made, step.chunk, step.form);
    if (step.operands.count > 1) chunks_[step.chunk].readers.push_back(index);
  }

  Kinship kinship_of(int other) const {
    if (plan_.parents.empty()) return Kinship::kNone;
    if (plan_.parents[static_cast<std::size_t>(program_.rank)] == other) return Kinship::kParent;
    return plan_.parents[static_cast<std::size_t>(other)] == program_.rank ? Kinship::kChild : Kinship::kNone;
  }

  void leave_out_strangers() {
    const auto is_stranger = [](const Peer& peer) { return peer.sent.empty() && peer.received.empty() && peer.kinship == Kinship::kNone; };
    program_.peers.erase(std::remove_if(program_.peers.begin(), program_.peers.end(), is_stranger), program_.peers.end());
  }

  // Makes the results that consist of this rank's own contribution, because values are only moved
  // or no other rank contributes.
  void finish_alone() {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      if (!program_.receives(program_.rank, chunk)) continue;
      MessageStep made{};
      made.own = value_of(chunk);
      if (program_.values[made.own].where != Where::kInput) continue;
      made.operands = {program_.operands.size(), 1};
      program_.operands.push_back({program_.rank, Form::kContribution});
      program_.local.push_back(program_.steps.size());
      add(made, chunk, Form::kResult);
    }
  }

  void add(MessageStep& step, std::size_t chunk, Form form) {
    const Value value = value_for(chunk, form);
    step.value = program_.values.size();
    step.departures.first = program_.departures.size();
    for (const Departure& departure : chunks_[chunk].departures) {
      if (is_same_memory(value, program_.values[peer_with(departure.to).sent[departure.index]])) program_.departures.push_back(departure);
    }
    step.departures.count = program_.departures.size() - step.departures.first;
    step.readers.first = program_.readers.size();
    for (const std::size_t reader : chunks_[chunk].readers) {
      if (is_same_memory(value, program_.values[program_.steps[reader].own])) program_.readers.push_back(program_.steps[reader].value);
    }
    step.readers.count = program_.readers.size() - step.readers.first;
    chunks_[chunk].value = program_.values.size();
    program_.values.push_back(value);
    program_.steps.push_back(step);
  }

  // An output may be the same memory as the input.
  static bool is_same_memory(const Value& value, const Value& other) {
    if (value.where != Where::kWork) return other.where != Where::kWork;
    return other.where == Where::kWork && other.work_buffer == value.work_buffer;
  }

  // Computes a value that becomes a result in the output, if it fits there and all ranks are known
  // to agree before the output is written.
  Value value_for(std::size_t chunk, Form form) {
    const bool fits = byte_size(dtype_of(program_, form)) == byte_size(dtype_of(program_, Form::kResult));
    const bool is_allowed = form == Form::kResult || plan_.agreement != Agreement::kImplied;
    if (fits && is_allowed && program_.receives(program_.rank, chunk)) return {chunk, form, Where::kOutput, 0};
    std::size_t& work_buffer = chunks_[chunk].work_buffers[static_cast<int>(form)];
    if (work_buffer == kNone) {
      work_buffer = program_.work_buffers.size();
      program_.work_buffers.push_back({chunk, form});
    }
    return {chunk, form, Where::kWork, work_buffer};
  }

  std::size_t value_of(std::size_t chunk) {
    std::size_t& value = chunks_[chunk].value;
    if (value == kNone) {
      value = program_.values.size();
      program_.values.push_back({chunk, Form::kContribution, Where::kInput, 0});
    }
    return value;
  }

  Peer& peer_with(int rank) { return program_.peers[static_cast<std::size_t>(rank < program_.rank ? rank : rank - 1)]; }

  const MessageRounds& rounds_;
  const AgreementPlan plan_;
  MessageProgram program_{};
  std::vector<ChunkState> chunks_;
};

}  // namespace

DType dtype_of(const Request& request, Form form) {
  if (request.moves() || form == Form::kContribution) return request.dtype;
  return form == Form::kPartial ? request.accumulator() : result_of(request.dtype, request.op);
}

MessageProgram parse_message_program(const std::int32_t* words, std::size_t count, int rank) {
  const MessageRounds rounds = parse_rounds(words, count);
  if (rank < 0 || rank >= rounds.ranks) throw Error("a program for " + std::to_string(rounds.ranks) + " ranks has no rank " + std::to_string(rank));
  return RankProgramBuilder(rounds, rank).take();
}

}  // namespace coll

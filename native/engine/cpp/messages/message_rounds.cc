#include "message_rounds.h"

#include <algorithm>

#include "../error.h"
#include "../threads/words.h"

namespace coll {
namespace {

// The most chunks of all ranks together, enough for a group of a thousand ranks.
constexpr std::size_t kMostRankChunks = std::size_t{1} << 22;

// Reads the rounds and checks each step against the state of the chunks so far.
class Reading {
 public:
  explicit Reading(WordReader& reader) : reader_(reader) {
    static_cast<Request&>(rounds_) = take_request(reader);
    if (!rounds_.moves() && rounds_.op == Op::kMean && rounds_.dtype == DType::kBool) throw Error("a program computes the mean of bools");
    const std::size_t ranks = static_cast<std::size_t>(rounds_.ranks);
    rounds_.chunk_count = static_cast<std::size_t>(reader.take("number of chunks", 1, static_cast<int>(kMostRankChunks / ranks)));
    if (rounds_.chunk_count % rounds_.block_count() != 0) throw Error("a program's chunks cannot be divided evenly into its blocks");
    rank_chunks_.resize(ranks * rounds_.chunk_count);
    read_by_.resize(ranks, kNothing);
    for (std::size_t index = 0; index < rank_chunks_.size(); ++index) {
      if (rounds_.contributes(rank_of(index), chunk_of(index))) rank_chunks_[index].version = kContributed;
    }
  }

  MessageRounds read() {
    const int count = reader_.take("number of rounds", 0, most_words());
    for (round_ = 1; round_ <= count; ++round_) {
      for (int left = reader_.take("number of steps", 0, most_words()); left > 0; --left) take_step();
    }
    if (reader_.left() != 0) throw Error("a program has words after its last round");
    find_needed();
    find_forms();
    return std::move(rounds_);
  }

 private:
  struct RankChunk {
    int version = kNothing;
    int read_in = 0;     // the last round that did so
    int written_in = 0;
  };

  int most_words() const { return static_cast<int>(std::min<std::size_t>(reader_.left(), 1u << 30)); }
  int rank_of(std::size_t index) const { return static_cast<int>(index / rounds_.chunk_count); }
  std::size_t chunk_of(std::size_t index) const { return index % rounds_.chunk_count; }
  RankChunk& rank_chunk(int rank, std::size_t chunk) { return rank_chunks_[static_cast<std::size_t>(rank) * rounds_.chunk_count + chunk]; }

  void take_step() {
    RoundStep step{};
    step.chunk = static_cast<std::size_t>(reader_.take("chunk", 0, static_cast<int>(rounds_.chunk_count) - 1));
    step.to = reader_.take("rank of a step", 0, rounds_.ranks - 1);
    const int count = reader_.take("number of operands", 1, std::min(rounds_.ranks, most_words()));
    if (count > 1 && rounds_.moves()) throw Error("a program combines values in a collective that only moves them");
    step.operands = {rounds_.ranks_of.size(), static_cast<std::size_t>(count)};
    const int made = static_cast<int>(rounds_.steps.size());
    bool has_own = false;
    for (int i = 0; i < count; ++i) {
      const int rank = reader_.take("operand", 0, rounds_.ranks - 1);
      int& read_by = read_by_[static_cast<std::size_t>(rank)];
      if (read_by == made) throw Error("a program's step reads a rank twice");
      read_by = made;
      has_own = has_own || rank == step.to;
      take_operand(rank, step);
    }
    if (has_own != (count > 1)) throw Error("a program's step neither copies another rank's chunk nor combines its own with others");
    RankChunk& written = rank_chunk(step.to, step.chunk);
    if (written.written_in == round_ || written.read_in == round_) throw Error("a program's round writes a chunk that the same round also reads or writes");
    written.written_in = round_;
    written.version = made;
    rounds_.steps.push_back(step);
  }

  void take_operand(int rank, const RoundStep& step) {
    RankChunk& read = rank_chunk(rank, step.chunk);
    if (read.version == kNothing) throw Error("a program's step reads a rank that holds nothing yet");
    if (rank != step.to) {
      if (read.written_in == round_) throw Error("a program's round reads a chunk that the same round writes");
      read.read_in = round_;
    }
    rounds_.ranks_of.push_back(rank);
    rounds_.versions_of.push_back(read.version);
  }

  // Marks the needed steps, from the last to the first. A step is needed if a result or a needed
  // step uses the version that it makes. That version has the form of a result if it is one or is
  // copied to one.
  void find_needed() {
    for (std::size_t index = 0; index < rank_chunks_.size(); ++index) {
      if (!rounds_.receives(rank_of(index), chunk_of(index))) continue;
      const int version = rank_chunks_[index].version;
      if (version == kNothing) throw Error("a program leaves a rank without its result");
      if (version != kContributed) finish(static_cast<std::size_t>(version));
    }
    for (std::size_t index = rounds_.steps.size(); index-- > 0;) {
      const RoundStep& step = rounds_.steps[index];
      if (!step.is_needed) continue;
      const bool is_result = step.form == Form::kResult;
      for (std::size_t i = 0; i < step.operands.count; ++i) {
        const int version = rounds_.versions_of[step.operands.first + i];
        if (version == kContributed) {
          if (is_result && step.operands.count == 1 && !rounds_.moves()) throw Error("a program uses a copied contribution as a result");
          continue;
        }
        const std::size_t made = static_cast<std::size_t>(version);
        rounds_.steps[made].is_needed = true;
        if (is_result && step.operands.count == 1) finish(made);
      }
    }
  }

  void finish(std::size_t index) {
    rounds_.steps[index].is_needed = true;
    rounds_.steps[index].form = Form::kResult;
  }

  void find_forms() {
    rounds_.forms_of.resize(rounds_.versions_of.size());
    for (RoundStep& step : rounds_.steps) {
      for (std::size_t i = step.operands.first; i < step.operands.first + step.operands.count; ++i) {
        const int version = rounds_.versions_of[i];
        rounds_.forms_of[i] = version == kContributed ? Form::kContribution : rounds_.steps[static_cast<std::size_t>(version)].form;
        if (step.is_needed && step.operands.count > 1 && rounds_.forms_of[i] == Form::kResult) throw Error("a program combines a finished result again");
      }
      if (step.form == Form::kResult) continue;
      step.form = step.operands.count > 1 ? Form::kPartial : rounds_.forms_of[step.operands.first];
    }
  }

  WordReader& reader_;
  MessageRounds rounds_;
  std::vector<RankChunk> rank_chunks_;  // rank by rank
  std::vector<int> read_by_;   // the last step that read a rank
  int round_ = 0;
};

}  // namespace

MessageRounds parse_rounds(const std::int32_t* words, std::size_t count) {
  WordReader reader(words, count);
  return Reading(reader).read();
}

}  // namespace coll

#pragma once

#include <algorithm>
#include <random>
#include <utility>

#include "programs.h"

// Schedules for tests, as rounds and as words of both kinds of programs.
namespace coll::test {

struct ScheduledStep {
  int chunk;
  int to;
  std::vector<int> operands;
};

struct Schedule {
  Kind kind;
  Op op;
  DType dtype;
  int ranks;
  int root;
  int chunks;
  std::vector<std::vector<ScheduledStep>> rounds;
};

inline Words message_words(const Schedule& schedule) {
  Words words = head(schedule.kind, schedule.op, schedule.dtype, schedule.ranks, schedule.root, schedule.chunks);
  words.push_back(static_cast<int>(schedule.rounds.size()));
  for (const std::vector<ScheduledStep>& round : schedule.rounds) {
    words.push_back(static_cast<int>(round.size()));
    for (const ScheduledStep& step : round) {
      words.insert(words.end(), {step.chunk, step.to, static_cast<int>(step.operands.size())});
      words.insert(words.end(), step.operands.begin(), step.operands.end());
    }
  }
  return words;
}

// The words of a program for execute(), in which all steps of a chunk precede those of the next
// chunk.
inline Words program_words(const Schedule& schedule) {
  Words words = head(schedule.kind, schedule.op, schedule.dtype, schedule.ranks, schedule.root, schedule.chunks);
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    Words own;
    int count = 0;
    for (const std::vector<ScheduledStep>& round : schedule.rounds) {
      for (const ScheduledStep& step : round) {
        if (step.chunk != chunk) continue;
        own.insert(own.end(), {step.to, static_cast<int>(step.operands.size())});
        own.insert(own.end(), step.operands.begin(), step.operands.end());
        ++count;
      }
    }
    words.insert(words.end(), {0, count});
    words.insert(words.end(), own.begin(), own.end());
  }
  return words;
}

inline Schedule ring_all_reduce(Op op, DType dtype, int ranks, int pieces = 1) {
  Schedule schedule{Kind::kAllReduce, op, dtype, ranks, 0, ranks * pieces, {}};
  for (int round = 0; round < 2 * (ranks - 1); ++round) {
    std::vector<ScheduledStep> steps;
    for (int rank = 0; rank < ranks; ++rank) {
      const int to = (rank + 1) % ranks;
      const int block = ((rank - round) % ranks + 2 * ranks) % ranks;
      for (int piece = 0; piece < pieces; ++piece) {
        std::vector<int> operands{rank};
        if (round < ranks - 1) operands.push_back(to);
        std::sort(operands.begin(), operands.end());
        steps.push_back({block * pieces + piece, to, operands});
      }
    }
    schedule.rounds.push_back(steps);
  }
  return schedule;
}

// A tree: in each round, every rank that has the value sends it to the rank `distance` further. A
// sum goes the same way back.
inline Schedule tree(Kind kind, Op op, DType dtype, int ranks) {
  Schedule schedule{kind, op, dtype, ranks, 0, 1, {}};
  std::vector<std::vector<ScheduledStep>> down;
  std::vector<std::vector<ScheduledStep>> up;
  for (int distance = 1; distance < ranks; distance *= 2) {
    std::vector<ScheduledStep> copies;
    std::vector<ScheduledStep> sums;
    for (int rank = 0; rank < distance && rank + distance < ranks; ++rank) {
      copies.push_back({0, rank + distance, {rank}});
      sums.push_back({0, rank, {rank, rank + distance}});
    }
    down.push_back(copies);
    up.insert(up.begin(), sums);
  }
  if (kind != Kind::kBroadcast) schedule.rounds = up;
  if (kind != Kind::kReduce) schedule.rounds.insert(schedule.rounds.end(), down.begin(), down.end());
  return schedule;
}

inline Schedule doubling_all_reduce(Op op, DType dtype, int ranks) {
  Schedule schedule{Kind::kAllReduce, op, dtype, ranks, 0, ranks, {}};
  std::vector<std::vector<ScheduledStep>> gathers;
  for (int distance = ranks / 2; distance > 0; distance /= 2) {
    std::vector<ScheduledStep> sums;
    std::vector<ScheduledStep> copies;
    for (int rank = 0; rank < ranks; ++rank) {
      const int partner = rank ^ distance;
      for (int chunk = 0; chunk < ranks; ++chunk) {
        const bool is_mine = chunk / distance == rank / distance;
        if (is_mine) sums.push_back({chunk, rank, {std::min(rank, partner), std::max(rank, partner)}});
        else if (chunk / distance == partner / distance) copies.push_back({chunk, rank, {partner}});
      }
    }
    schedule.rounds.push_back(sums);
    gathers.insert(gathers.begin(), copies);
  }
  schedule.rounds.insert(schedule.rounds.end(), gathers.begin(), gathers.end());
  return schedule;
}

inline Schedule ring_all_gather(DType dtype, int ranks) {
  Schedule schedule{Kind::kAllGather, Op::kSum, dtype, ranks, 0, ranks, {}};
  for (int round = 0; round < ranks - 1; ++round) {
    std::vector<ScheduledStep> steps;
    for (int rank = 0; rank < ranks; ++rank) steps.push_back({(rank - round + ranks) % ranks, (rank + 1) % ranks, {rank}});
    schedule.rounds.push_back(steps);
  }
  return schedule;
}

// Schedules of eight ranks in which no rank exchanges values with all others.
inline std::vector<Schedule> sparse_schedules(DType dtype = DType::kFloat32) {
  return {ring_all_reduce(Op::kSum, dtype, 8),       doubling_all_reduce(Op::kSum, dtype, 8),        tree(Kind::kAllReduce, Op::kSum, dtype, 8),
          tree(Kind::kReduce, Op::kSum, dtype, 8),   tree(Kind::kBroadcast, Op::kSum, dtype, 8), ring_all_gather(dtype, 8)};
}

// Whether a step of a schedule moves values between two ranks.
inline bool moves_between(const Schedule& schedule, int one, int other) {
  for (const std::vector<ScheduledStep>& round : schedule.rounds) {
    for (const ScheduledStep& step : round) {
      for (const int from : step.operands) {
        if ((step.to == one && from == other) || (step.to == other && from == one)) return true;
      }
    }
  }
  return false;
}

// The random path of a chunk to its result: the ranks that still have a contribution, and the ranks
// that have the result.
class RandomPath {
 public:
  RandomPath(const Schedule& schedule, int chunk, std::mt19937& random) : chunk_(chunk), ranks_(schedule.ranks), random_(random) {
    const Kind kind = schedule.kind;
    const int in_block = std::max(1, schedule.chunks / chunks_of(kind, ranks_));
    const int block = chunk / in_block;
    target_ = kind == Kind::kReduceScatter || kind == Kind::kScatter ? block : kind == Kind::kAllToAll ? block % ranks_ : schedule.root;
    goes_to_all_ = kind == Kind::kAllGather || kind == Kind::kBroadcast || kind == Kind::kAllReduce;
    may_detour_ = moves(kind) && !goes_to_all_;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!moves(kind) || rank == source_of(kind, chunk, ranks_, schedule.root, in_block)) holders_.push_back(rank);
    }
  }

  bool is_done() const { return holders_.size() == 1 && (goes_to_all_ ? finished_.size() + 1 >= static_cast<std::size_t>(ranks_) : holders_[0] == target_); }

  ScheduledStep next() {
    std::shuffle(holders_.begin(), holders_.end(), random_);
    if (holders_.size() > 1) return random_() % 4 == 0 && !spent().empty() ? hop() : combine();
    if (may_detour_ && random_() % 4 == 0) return hop();
    if (!goes_to_all_) return {chunk_, target_, {std::exchange(holders_[0], target_)}};
    return spread();
  }

 private:
  int pick(const std::vector<int>& from) { return from[random_() % from.size()]; }

  std::vector<int> spent() const {
    std::vector<int> others;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (std::find(holders_.begin(), holders_.end(), rank) == holders_.end()) others.push_back(rank);
    }
    return others;
  }

  ScheduledStep hop() {
    const int to = pick(spent());
    return {chunk_, to, {std::exchange(holders_[0], to)}};
  }

  ScheduledStep combine() {
    const std::size_t count = 2 + random_() % (holders_.size() - 1);
    std::vector<int> operands(holders_.end() - static_cast<std::ptrdiff_t>(count), holders_.end());
    const int to = operands[0];
    std::sort(operands.begin(), operands.end());
    holders_.resize(holders_.size() - count);
    holders_.push_back(to);
    return {chunk_, to, operands};
  }

  ScheduledStep spread() {
    std::vector<int> left;
    for (const int rank : spent()) {
      if (std::find(finished_.begin(), finished_.end(), rank) == finished_.end()) left.push_back(rank);
    }
    std::vector<int> from = finished_;
    from.push_back(holders_[0]);
    const int to = pick(left);
    const int source = pick(from);
    finished_.push_back(to);
    return {chunk_, to, {source}};
  }

  const int chunk_;
  const int ranks_;
  std::mt19937& random_;
  int target_;
  bool goes_to_all_;
  bool may_detour_;
  std::vector<int> holders_;
  std::vector<int> finished_;
};

// A schedule in which each chunk takes a random path: combinations of any number of operands,
// detours of contributions and sums, then copies of copies.
inline Schedule random_schedule(Kind kind, Op op, DType dtype, int ranks, int root, int chunks, std::mt19937& random) {
  Schedule schedule{kind, op, dtype, ranks, root, chunks, {}};
  std::vector<RandomPath> paths;
  for (int chunk = 0; chunk < chunks; ++chunk) paths.emplace_back(schedule, chunk, random);
  for (bool goes_on = true; goes_on;) {
    std::vector<ScheduledStep> round;
    for (RandomPath& path : paths) {
      if (!path.is_done() && random() % 3 != 0) round.push_back(path.next());
    }
    std::shuffle(round.begin(), round.end(), random);
    goes_on = std::any_of(paths.begin(), paths.end(), [](const RandomPath& path) { return !path.is_done(); });
    schedule.rounds.push_back(round);
  }
  return schedule;
}

}  // namespace coll::test

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "../clock.h"
#include "calls.h"

namespace coll {

// A question about one collective, and the answers of the members. The question is asked in rounds:
// a member that asks joins the current round, or begins the next one for all members.
struct Question {
  explicit Question(std::size_t size) : answers(size), rounds(size, 0) {}

  // Records an answer. Returns false if one of this round or a later one is known.
  bool add(std::size_t rank, std::uint32_t its_round, const Answer& answer) {
    if (rounds[rank] >= its_round) return false;
    rounds[rank] = its_round;
    answers[rank] = answer;
    return true;
  }

  std::uint32_t round = 0;  // 0 before the first
  Clock::time_point begun{};
  std::vector<std::optional<Answer>> answers;  // the last answer of each rank
  std::vector<std::uint32_t> rounds;           // the round of that answer
};

// The questions about the last collectives, by the number of the collective.
class Questions {
 public:
  explicit Questions(std::size_t size) : size_(size) {}

  Question& about(std::uint64_t sequence) {
    Question& question = questions_.emplace(sequence, size_).first->second;
    // Members are only a few collectives apart.
    while (questions_.size() > kRemembered && questions_.begin()->first != sequence) questions_.erase(questions_.begin());
    return question;
  }

 private:
  static constexpr std::size_t kRemembered = 16;

  const std::size_t size_;
  std::map<std::uint64_t, Question> questions_;
};

}  // namespace coll

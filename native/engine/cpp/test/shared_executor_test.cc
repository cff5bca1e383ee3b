#if defined(__linux__)

#include "shared/shared_executor.h"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "shared_cases.h"
#include "shared_group.h"

namespace coll::test {
namespace {

// Memory of a rank for one collective, between bytes that must not be written.
class GuardedMemory {
 public:
  GuardedMemory(SharedMemory& memory, bool is_shared, std::size_t shift, std::size_t bytes) : memory_(memory), bytes_(bytes), shift_(shift + kGuard) {
    const std::size_t all = bytes + 2 * shift_;
    if (is_shared) shared_ = memory.allocate(all);
    else own_.resize(all);
    std::memset(begin() - kGuard, 0x5a, bytes + 2 * kGuard);
  }
  ~GuardedMemory() {
    if (shared_ != nullptr) memory_.free(shared_);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* begin() { return (shared_ != nullptr ? shared_ : own_.data()) + shift_; }
  bool is_sound() {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (begin()[bytes_ + i] != std::byte{0x5a} || *(begin() - 1 - i) != std::byte{0x5a}) return false;
    }
    return true;
  }
  bool holds(const std::vector<std::byte>& bytes) { return has_bytes(begin(), bytes); }

 private:
  static constexpr std::size_t kGuard = 64;
  SharedMemory& memory_;
  const std::size_t bytes_;
  const std::size_t shift_;
  std::byte* shared_ = nullptr;
  std::vector<std::byte> own_;
};

// Pieces follow each other in one memory.
template <class Pointer>
void add_pieces(std::vector<Pointer>& pieces, std::byte* begin, const SharedCase& it, std::size_t size) {
  for (std::size_t i = 0; i + 1 < it.begins.size(); ++i) pieces.push_back(begin + it.begins[i] * size);
}

bool complain(const SharedRank& self, const SharedCase& it, const char* what) {
  std::fprintf(stderr, "rank %d of %d, %s: %s\n", self.rank, self.ranks, it.name().c_str(), what);
  return false;
}

bool execute_case(SharedRank& self, const SharedCase& it) {
  const Program& program = *it.program;
  const Habit& habit = it.habits[static_cast<std::size_t>(self.rank)];
  const std::vector<std::byte> input = input_of(it, self.rank);
  const std::size_t most_bytes = std::max(it.length() * it.input_size(), it.output_count() * it.output_size());
  GuardedMemory in(*self.memory, habit.has_shared_input, habit.shift * it.input_size(), habit.is_in_place ? most_bytes : input.size());
  GuardedMemory out(*self.memory, habit.has_shared_output, habit.shift * it.output_size(), it.output_count() * it.output_size());
  const std::size_t block = it.length() / it.ranks() * static_cast<std::size_t>(self.rank);
  std::byte* read = in.begin();
  std::byte* written = habit.is_in_place ? in.begin() : out.begin();
  // In place, the rank's block lies at its position in the whole buffer.
  if (habit.is_in_place && program.has_block_in()) read += block * it.input_size();
  if (habit.is_in_place && program.has_block_out()) written += block * it.output_size();
  std::copy(input.begin(), input.end(), read);

  Offer offer{};
  offer.program = it.program;
  offer.length = it.length();
  offer.begins = it.begins;
  if (program.reads(self.rank)) add_pieces(offer.buffers.inputs, read, it, it.input_size());
  if (program.writes(self.rank)) add_pieces(offer.buffers.outputs, written, it, it.output_size());
  offer.fingerprint = it.seed;
  if (self.finish(offer) != Status::kDone) return complain(self, it, "did not end well");

  if (!in.is_sound() || !out.is_sound()) return complain(self, it, "memory beside was written to");
  if (program.reads(self.rank) && !habit.is_in_place && !in.holds(input)) return complain(self, it, "the input has changed");
  if (!program.writes(self.rank)) return true;
  const std::vector<std::byte> right = expected(it, self.rank);
  if (!has_bytes(written, right)) return complain(self, it, "the result is wrong");
  return true;
}

bool execute_cases(SharedRank& self, unsigned seed, int count, std::size_t most_bytes) {
  std::mt19937 random(seed);
  for (int round = 0; round < count; ++round) {
    if (!execute_case(self, draw(random, self.ranks, most_bytes))) return false;
  }
  return true;
}

class SharedExecutors : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(SharedExecutors, ReturnTheResultsOfOneThread) {
  const auto [ranks, cores] = GetParam();
  SharedNotices notices;
  const int count = (is_short() ? 20 : 60) / (ranks > 8 ? 5 : 1);
  const auto work = [count](SharedRank& self) { return execute_cases(self, 7, count, 1'500'000); };
  for (const pid_t child : fork_ranks(*notices, ranks, cores, work)) EXPECT_EQ(ending_of(child), 0);
}

TEST_P(SharedExecutors, ReturnTheSameResultsOnThreads) {
  const auto [ranks, cores] = GetParam();
  SharedNotices notices;
  const int count = (is_short() ? 20 : 40) / (ranks > 8 ? 5 : 1);
  EXPECT_TRUE(on_threads(*notices, ranks, cores, [count](SharedRank& self) { return execute_cases(self, 11, count, 1'000'000); }));
}

INSTANTIATE_TEST_SUITE_P(All, SharedExecutors,
                         testing::Values(std::tuple(1, 64), std::tuple(2, 64), std::tuple(2, 1), std::tuple(3, 64), std::tuple(5, 1),
                                         std::tuple(16, 2)));

SharedCase sum_of(int ranks, std::size_t length, bool is_shared) {
  SharedCase it;
  it.program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kSum, DType::kFloat32, ranks)));
  it.begins = {0, length};
  it.habits.assign(static_cast<std::size_t>(ranks), {is_shared, is_shared, true, 0});
  it.seed = static_cast<unsigned>(length);
  return it;
}

TEST(SharedExecutor, SupportsManyRanks) {
  SharedNotices notices;
  const int ranks = is_short() ? 20 : 64;
  const auto work = [ranks](SharedRank& self) {
    return execute_case(self, sum_of(ranks, 1, false)) && execute_case(self, sum_of(ranks, 9'000, false)) &&
           execute_case(self, sum_of(ranks, 9'000, true));
  };
  for (const pid_t child : fork_ranks(*notices, ranks, 2, work)) EXPECT_EQ(ending_of(child), 0);
}

// Tensors in arenas are divided into slices, of which ranks take units from each other.
TEST(SharedExecutor, SupportsLargeTensors) {
  SharedNotices notices;
  const auto work = [](SharedRank& self) {
    return execute_case(self, sum_of(2, 5'000'001, true)) && execute_case(self, sum_of(2, 5'000'001, false));
  };
  for (const pid_t child : fork_ranks(*notices, 2, 2, work)) EXPECT_EQ(ending_of(child), 0);
}

// Large private memory is copied in streams, even if blocks and pieces do not end at cache lines.
TEST(SharedExecutor, SupportsBuffersLargerThanTheCaches) {
  SharedNotices notices;
  const auto work = [](SharedRank& self) {
    SharedCase it = sum_of(self.ranks, (std::size_t{64} << 20) / sizeof(float) / 5 + 1'003, false);
    if (!execute_case(self, it)) return false;
    it.begins = {0, 1, 777, 70'001, it.length()};
    for (Habit& habit : it.habits) habit = {false, false, false, 3};
    return execute_case(self, it);
  };
  for (const pid_t child : fork_ranks(*notices, 5, 2, work)) EXPECT_EQ(ending_of(child), 0);
}

TEST(SharedExecutor, DetectsThatRanksDisagree) {
  SharedNotices notices;
  const auto work = [](SharedRank& self) {
    for (const std::size_t length : {4u, 4000u, 400'000u}) {
      for (const bool is_shared : {false, true}) {
        std::vector<float> ordinary(length, 1);
        float* const values = is_shared ? reinterpret_cast<float*>(self.memory->allocate(length * sizeof(float))) : ordinary.data();
        std::fill_n(values, length, 1.0F);
        SharedCase it = sum_of(self.ranks, self.rank == 1 ? length / 2 : length, false);
        Offer offer{};
        offer.program = it.program;
        offer.length = it.length();
        offer.begins = it.begins;
        offer.buffers = {{reinterpret_cast<std::byte*>(values)}, {reinterpret_cast<std::byte*>(values)}};
        offer.fingerprint = it.length();
        if (self.finish(offer) != Status::kDisagreed) return complain(self, it, "agreed");
        if (std::count(values, values + length, 1.0F) != static_cast<std::ptrdiff_t>(length)) return complain(self, it, "was written to");
        if (!execute_case(self, sum_of(self.ranks, length, is_shared))) return false;
      }
    }
    return true;
  };
  for (const pid_t child : fork_ranks(*notices, 3, 2, work)) EXPECT_EQ(ending_of(child), 0);
}

// Executes a collective in time slices, and returns how many calls that took. Between slices, the
// owner may change memory that no other rank sees, as long as it restores the contents.
std::optional<int> calls_of(SharedRank& self, const SharedCase& it, std::byte* arena, std::chrono::microseconds time_slice) {
  const std::vector<std::byte> input = input_of(it, self.rank);
  std::vector<std::byte> own = input;
  std::byte* values = own.data();
  if (arena != nullptr) values = std::copy(own.begin(), own.end(), arena) - own.size();
  Offer offer{};
  offer.program = it.program;
  offer.length = it.length();
  offer.begins = it.begins;
  offer.fingerprint = it.seed;
  Status status = Status::kSlice;
  int calls = 0;
  for (; status == Status::kSlice; ++calls) {
    offer.buffers = {{values}, {values}};
    status = self.executor->execute(offer, std::chrono::seconds(100), time_slice);
    if (arena != nullptr || status != Status::kSlice) continue;
    std::vector<std::byte> other = own;
    std::fill(own.begin(), own.end(), std::byte{0x5a});
    own = std::move(other);
    values = own.data();
  }
  if (status != Status::kDone || !has_bytes(values, expected(it, self.rank))) return std::nullopt;
  return calls;
}

TEST(SharedExecutor, ReturnsToTheCallerBetweenSlices) {
  SharedNotices notices;
  const auto work = [](SharedRank& self) {
    for (const bool is_shared : {false, true}) {
      const SharedCase it = sum_of(self.ranks, is_shared ? 12'000'001 : 400'001, is_shared);
      std::byte* const arena = is_shared ? self.memory->allocate(it.length() * it.input_size()) : nullptr;
      if (calls_of(self, it, arena, kLongestTimeSlice) != 1) return complain(self, it, "came back early, or with another result");
      const std::optional<int> calls = calls_of(self, it, arena, std::chrono::microseconds(1));
      if (!calls) return complain(self, it, "came back with another result");
      // In shared memory, ranks execute parts of each other's work, so only the total is certain.
      std::atomic<int>& sum = self.notices.words[is_shared ? 1 : 0];
      sum += *calls;
      self.notices.meet(self.ranks);
      if ((is_shared ? sum.load() / self.ranks : *calls) <= 2) return complain(self, it, "did not come back between slices");
    }
    return true;
  };
  // Each rank has a core of its own, so no other rank executes its part.
  for (const pid_t child : fork_ranks(*notices, 3, 3, work)) EXPECT_EQ(ending_of(child), 0);
}

}  // namespace
}  // namespace coll::test

#endif

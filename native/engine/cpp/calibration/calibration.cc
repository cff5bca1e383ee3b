#include "calibration.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <system_error>
#include <vector>

#include "../threads/member.h"
#include "pair.h"
#include "stopwatch.h"

namespace coll {
namespace {

using tuning::kKiB;
using Nanos = Stopwatch::Nanos;

constexpr int kRanks = 2;
// How many times as fast as the usual way another way must be to replace it. Smaller differences
// vary from run to run.
constexpr double kClearly = 1.1;

// The input and output of a rank, accessed as a program accesses them.
struct RankValues {
  // Writes each line of the input, as a program does before a call.
  void write(std::size_t bytes) {
    for (std::size_t at = 0; at < bytes / sizeof(float); at += kLine) input[at] += 1;
  }
  // Reads each line of the output, as a program does after a call.
  void read(std::size_t bytes) const {
    float sum = 0;
    for (std::size_t at = 0; at < bytes / sizeof(float); at += kLine) sum += output[at];
    volatile float used = sum;
    static_cast<void>(used);
  }

  static constexpr std::size_t kLine = kCacheLine / sizeof(float);
  std::vector<float> input = std::vector<float>(tuning::kMostSmallBytes / sizeof(float), 1.0f);
  std::vector<float> output = std::vector<float>(tuning::kMostSmallBytes / sizeof(float));
};

std::shared_ptr<const Program> all_reduce() {
  const std::int32_t words[] = {static_cast<int>(Kind::kAllReduce), static_cast<int>(Op::kSum), static_cast<int>(DType::kFloat32), kRanks, 0, 1, 1, kRanks, 0, 1};
  return std::make_shared<const Program>(parse_program(words, std::size(words)));
}

Offer offer_of(const std::shared_ptr<const Program>& program, int rank, RankValues& values, std::size_t bytes) {
  static std::atomic<std::uint64_t> latest{0};
  Offer offer{};
  offer.program = program;
  offer.rank = rank;
  offer.length = bytes / sizeof(float);
  offer.begins = {0, offer.length};
  offer.buffers = {{reinterpret_cast<const std::byte*>(values.input.data())}, {reinterpret_cast<std::byte*>(values.output.data())}};
  offer.fingerprint = bytes;
  offer.id = ++latest;
  return offer;
}

// Two threads that execute collectives.
class Ranks {
 public:
  explicit Ranks(std::size_t small_bytes) : board_(Board::bytes_for(kRanks)) {
    Thresholds thresholds;
    thresholds.small_bytes = small_bytes;
    for (int rank = 0; rank < kRanks; ++rank) {
      const Control control{&words_[0], &words_[1 + 2 * rank], &words_[2 + 2 * rank]};
      members_.push_back(std::make_unique<Member>(Board::in(board_.data()), control, rank, kRanks, kRanks, thresholds));
    }
  }
  void execute(Offer& offer) {
    Member& member = *members_[static_cast<std::size_t>(offer.rank)];
    while (member.execute(offer, Wait::kBlocking) != Status::kDone) continue;
  }

 private:
  std::vector<std::byte> board_;
  std::atomic<std::int32_t> words_[1 + 2 * kRanks] = {};
  std::vector<std::unique_ptr<Member>> members_;
};

// Repeats a call on two threads, between a write and a read of their memory.
class Calls {
 public:
  Calls(Pair& pair, Ranks& ranks, RankValues* values, std::size_t bytes) : pair_(pair), ranks_(ranks), values_(values), bytes_(bytes) {
    const auto program = all_reduce();
    for (int rank = 0; rank < kRanks; ++rank) offers_.push_back(offer_of(program, rank, values[rank], bytes));
  }
  void operator()() { pair_.run(*this); }
  void operator()(int rank) {
    for (int i = 0; i < kCalls; ++i) {
      values_[rank].write(bytes_);
      ranks_.execute(offers_[static_cast<std::size_t>(rank)]);
      values_[rank].read(bytes_);
    }
  }

 private:
  static constexpr int kCalls = 16;
  Pair& pair_;
  Ranks& ranks_;
  RankValues* const values_;
  const std::size_t bytes_;
  std::vector<Offer> offers_;
};

bool is_clearly_less(Nanos time, Nanos other) { return time * kClearly < other; }

// Whether two threads get a core each without delay. On a machine with many more threads than
// cores, a calibration would take far longer than it may.
bool are_cores_free(Pair& pair) {
  constexpr std::chrono::milliseconds kMost{1};
  auto nothing = [](int) {};
  // The first round waits for the start of the thread.
  pair.run(nothing);
  const auto begin = Clock::now();
  for (int i = 0; i < 10; ++i) {
    pair.run(nothing);
    if (Clock::now() - begin >= kMost) return false;
  }
  return true;
}

// Returns the largest size that is worth sending with announcements; nothing if the time is over.
std::optional<std::size_t> measure_small(Stopwatch& stopwatch, Pair& pair) {
  constexpr std::size_t kUsual = Thresholds().small_bytes;
  constexpr std::size_t kMost = tuning::kMostSmallBytes;
  Ranks announced(kMost);
  Ranks in_place(0);
  RankValues values[kRanks];
  std::size_t found = tuning::kAlwaysSmallBytes;
  for (const std::size_t bytes : {kKiB / 4, kKiB / 2, kKiB, kMost}) {
    const auto [small, large] = stopwatch.compare(7, Calls(pair, announced, values, bytes), Calls(pair, in_place, values, bytes));
    if (stopwatch.is_over()) return std::nullopt;
    const bool is_worth = bytes > kUsual ? is_clearly_less(small, large) : !is_clearly_less(large, small);
    if (!is_worth) break;
    found = bytes;
  }
  return found;
}

}  // namespace

std::optional<Thresholds> calibrate(std::chrono::milliseconds most) {
  try {
    Stopwatch stopwatch(most);
    Pair pair;
    if (!are_cores_free(pair)) return std::nullopt;
    const std::optional<std::size_t> small_bytes = measure_small(stopwatch, pair);
    if (!small_bytes || stopwatch.is_disturbed()) return std::nullopt;
    Thresholds thresholds;
    thresholds.small_bytes = *small_bytes;
    return thresholds;
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

}  // namespace coll

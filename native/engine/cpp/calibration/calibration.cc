#include "calibration.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <new>
#include <system_error>
#include <vector>

#include "../error.h"
#include "../shared/shared_executor.h"
#include "../threads/controller.h"
#include "../threads/member.h"
#include "pair.h"
#include "stopwatch.h"

namespace coll {
namespace {

using tuning::kKiB;
using tuning::kMiB;
using Nanos = Stopwatch::Nanos;

constexpr int kRanks = 2;
constexpr std::size_t kNever = SIZE_MAX;
// How many times as fast another way than the usual one must be: smaller differences change from
// run to run.
constexpr double kClearly = 1.1;

template <std::size_t Thresholds::*kField>
Thresholds with(std::size_t value) {
  Thresholds thresholds;
  thresholds.*kField = value;
  return thresholds;
}

// Floats in memory that begins at a huge page, whose first use takes a tenth of the time.
class Values {
 public:
  explicit Values(std::size_t bytes) {
    const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    values_.reset(static_cast<float*>(::operator new(whole, std::align_val_t{kAlignment})));
#if defined(__linux__)
    madvise(values_.get(), whole, MADV_HUGEPAGE);
#endif
  }
  float* get() const { return values_.get(); }

 private:
  static constexpr std::size_t kAlignment = 2 * kMiB;
  struct Free {
    void operator()(float* values) const { ::operator delete(values, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<float, Free> values_;
};

// The memory of a rank, and what its program does there.
struct RankValues {
  explicit RankValues(std::size_t most_bytes) : input(most_bytes), output(most_bytes) {}

  // Called by the rank's thread, so that the memory is near its core.
  void fill(std::size_t bytes) const {
    std::fill_n(input.get(), bytes / sizeof(float), 1.0f);
    std::fill_n(output.get(), bytes / sizeof(float), 0.0f);
  }
  // Writes each line of the input, as a program does before a call.
  void write(std::size_t bytes) const {
    for (std::size_t at = 0; at < bytes / sizeof(float); at += kLine) input.get()[at] += 1;
  }
  // Reads each line of the output, as a program does after a call.
  void read(std::size_t bytes) const {
    float sum = 0;
    for (std::size_t at = 0; at < bytes / sizeof(float); at += kLine) sum += output.get()[at];
    volatile float used = sum;
    static_cast<void>(used);
  }

  static constexpr std::size_t kLine = kCacheLine / sizeof(float);
  Values input;
  Values output;
};

std::shared_ptr<const Program> all_reduce() {
  const std::int32_t words[] = {static_cast<int>(Kind::kAllReduce), static_cast<int>(Op::kSum), static_cast<int>(DType::kFloat32), kRanks, 0, 1, 1, kRanks, 0, 1};
  return std::make_shared<const Program>(parse_program(words, std::size(words)));
}

Offer offer_of(const std::shared_ptr<const Program>& program, int rank, const RankValues& values, std::size_t bytes) {
  static std::atomic<std::uint64_t> latest{0};
  Offer offer{};
  offer.program = program;
  offer.rank = rank;
  offer.length = bytes / sizeof(float);
  offer.begins = {0, offer.length};
  offer.buffers = {{reinterpret_cast<const std::byte*>(values.input.get())}, {reinterpret_cast<std::byte*>(values.output.get())}};
  offer.fingerprint = bytes;
  offer.id = ++latest;
  return offer;
}

// Two threads that execute collectives.
class ThreadRanks {
 public:
  explicit ThreadRanks(const Thresholds& thresholds) : board_(Board::bytes_for(kRanks)) {
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

// The same for processes with ordinary arrays.
class ProcessRanks {
 public:
  explicit ProcessRanks(const Thresholds& thresholds) {
    std::vector<std::shared_ptr<Segment>> segments;
    for (int rank = 0; rank < kRanks; ++rank) segments.push_back(Segment::create(SharedMemory::fixed_bytes()));
    for (int rank = 0; rank < kRanks; ++rank) {
      const LocalRank local{rank, kRanks, kRanks};
      executors_.push_back(std::make_unique<SharedExecutor>(std::make_shared<SharedMemory>(rank, segments), rank, kRanks, local, failure_, thresholds));
    }
  }
  void execute(Offer& offer) {
    SharedExecutor& executor = *executors_[static_cast<std::size_t>(offer.rank)];
    while (executor.execute(offer, std::chrono::milliseconds(100)) != Status::kDone) continue;
  }

 private:
  std::atomic<std::int32_t> failure_{0};
  std::vector<std::unique_ptr<SharedExecutor>> executors_;
};

// Repeats a call on two threads, between a write and a read of their memory.
template <class Ranks>
class Calls {
 public:
  Calls(Pair& pair, Ranks& ranks, const RankValues* values, std::size_t bytes, int count) : pair_(pair), ranks_(ranks), values_(values), bytes_(bytes), count_(count) {
    const auto program = all_reduce();
    for (int rank = 0; rank < kRanks; ++rank) offers_.push_back(offer_of(program, rank, values[rank], bytes));
  }
  void operator()() { pair_.run(*this); }
  void operator()(int rank) {
    for (int i = 0; i < count_; ++i) {
      values_[rank].write(bytes_);
      ranks_.execute(offers_[static_cast<std::size_t>(rank)]);
      values_[rank].read(bytes_);
    }
  }

 private:
  Pair& pair_;
  Ranks& ranks_;
  const RankValues* const values_;
  const std::size_t bytes_;
  const int count_;
  std::vector<Offer> offers_;
};

bool is_clearly_less(Nanos time, Nanos other) { return time * kClearly < other; }

// Whether two threads get a core each at once. On a machine with many more threads than cores, a
// calibration would take far longer than it may.
bool are_cores_free() {
  constexpr std::chrono::milliseconds kMost{2};
  const auto begin = Clock::now();
  Pair pair;
  auto nothing = [](int) {};
  for (int i = 0; i < 10; ++i) pair.run(nothing);
  return Clock::now() - begin < kMost;
}

void measure_small(Stopwatch& stopwatch, Thresholds& thresholds) {
  constexpr std::size_t kMost = tuning::kMostSmallBytes;
  constexpr int kCalls = 32;
  ThreadRanks with_word(with<&Thresholds::small_bytes>(kMost));
  ThreadRanks in_place(with<&Thresholds::small_bytes>(0));
  const RankValues values[] = {RankValues(kMost), RankValues(kMost)};
  Pair pair;
  std::size_t found = tuning::kAlwaysSmallBytes;
  for (const std::size_t bytes : {kKiB / 4, kKiB / 2, kKiB, kMost}) {
    const auto [small, large] = stopwatch.compare(7, Calls(pair, with_word, values, bytes, kCalls), Calls(pair, in_place, values, bytes, kCalls));
    if (stopwatch.is_over()) return;
    if (bytes > thresholds.small_bytes ? !is_clearly_less(small, large) : is_clearly_less(large, small)) break;
    found = bytes;
  }
  thresholds.small_bytes = found;
}

// Returns the time that a thread takes for a byte of all inputs. The helper is awake, since calls
// follow each other closely.
Nanos measure_helped(Stopwatch& stopwatch, Thresholds& thresholds) {
  constexpr std::size_t kMost = 2 * kMiB;
  constexpr int kCalls = 6;
  const auto program = all_reduce();
  const RankValues values[] = {RankValues(kMost / kRanks), RankValues(kMost / kRanks)};
  Controller alone(kRanks, 0);
  Controller helped(kRanks, 1);
  Nanos per_byte{};
  for (std::size_t all_bytes = 2 * tuning::kTaskUnitBytes; !stopwatch.is_over(); all_bytes *= 2) {
    const std::size_t bytes = all_bytes / kRanks;
    for (const RankValues& one : values) one.fill(bytes);
    const Offer offers[] = {offer_of(program, 0, values[0], bytes), offer_of(program, 1, values[1], bytes)};
    const Offer* const all[] = {&offers[0], &offers[1]};
    const auto calls = [&](Controller& controller) {
      return [&] {
        for (int i = 0; i < kCalls; ++i) {
          for (const RankValues& one : values) one.write(bytes);
          controller.execute(all, 0);
          for (const RankValues& one : values) one.read(bytes);
        }
      };
    };
    const auto [one, two] = stopwatch.compare(5, calls(alone), calls(helped));
    if (stopwatch.is_over()) return per_byte;
    per_byte = one / (kCalls * static_cast<double>(all_bytes));
    if (!is_clearly_less(one, two)) return per_byte;
    thresholds.helped_bytes = 2 * all_bytes;
    if (all_bytes == kMost) break;
  }
  return per_byte;
}

// A task must take five times as long as waking a helper, which then has a share of it to do.
void measure_waking(Thresholds& thresholds, Nanos per_byte) {
  constexpr std::uint32_t kRounds = 11;
  constexpr std::chrono::microseconds kUntilAsleep{40};
  constexpr double kWakeUps = 5;
  std::atomic<std::uint32_t> word{0};
  std::atomic<std::uint32_t> answer{0};
  std::vector<Nanos> times;
  Pair pair;
  auto work = [&](int rank) {
    for (std::uint32_t turn = 1; turn <= kRounds; ++turn) {
      if (rank == 1) {
        while (word.load() != turn) park(word, turn - 1, 1);
        answer.store(turn);
        continue;
      }
      const auto asleep = Clock::now() + kUntilAsleep;
      while (Clock::now() < asleep) pause();
      const auto begin = Clock::now();
      word.store(turn);
      unpark(word);
      spin_until(tuning::kHelperSpins, [&] { return answer.load() == turn; });
      times.push_back(Clock::now() - begin);
    }
  };
  pair.run(work);
  std::sort(times.begin(), times.end());
  const double ratio = kWakeUps * times[kRounds / 2] / per_byte / static_cast<double>(thresholds.waking_bytes);
  if (ratio > 0.5 && ratio < 2) return;
  const double rounded = std::exp2(std::clamp(std::round(std::log2(ratio)), -3.0, 3.0));
  thresholds.waking_bytes = static_cast<std::size_t>(static_cast<double>(thresholds.waking_bytes) * rounded);
}

void measure_blocks(Stopwatch& stopwatch, Thresholds& thresholds) {
#if defined(__linux__)
  constexpr std::size_t kBytes = 1 * kMiB;
  const RankValues values[] = {RankValues(kBytes), RankValues(kBytes)};
  Pair pair;
  ProcessRanks usual(thresholds);
  double best = 1 / kClearly;
  const std::size_t usual_bytes = thresholds.block_bytes;
  for (const std::size_t bytes : {usual_bytes / 2, usual_bytes / 4}) {
    ProcessRanks other(with<&Thresholds::block_bytes>(bytes));
    const auto times = stopwatch.compare(7, Calls(pair, usual, values, kBytes, 1), Calls(pair, other, values, kBytes, 1));
    if (stopwatch.is_over() || times.other / times.usual >= best) return;
    best = times.other / times.usual;
    thresholds.block_bytes = bytes;
  }
#endif
}

void measure_streams(Stopwatch& stopwatch, Thresholds& thresholds) {
  constexpr std::size_t kRounds = 3;
  const std::size_t usual = thresholds.streamed_bytes;
  ThreadRanks cached(with<&Thresholds::streamed_bytes>(kNever));
  ThreadRanks streamed(with<&Thresholds::streamed_bytes>(0));
  const RankValues values[] = {RankValues(usual), RankValues(usual)};
  Pair pair;
  // In a real group, one way follows itself.
  const auto compare = [&](std::size_t bytes) {
    auto fill = [&](int rank) { values[rank].fill(bytes); };
    pair.run(fill);
    return stopwatch.compare(kRounds, Calls(pair, cached, values, bytes, 2), Calls(pair, streamed, values, bytes, 1));
  };
  const auto half = compare(usual / 2);
  if (stopwatch.is_over()) return;
  if (is_clearly_less(half.other, half.usual)) {
    thresholds.streamed_bytes = usual / 2;
    return;
  }
  // Twice the bytes, which may be in no cache, and their first use.
  const std::size_t calls = 2 * (kRounds + 1);
  if (!stopwatch.has_time_for(4.0 * calls * std::max(half.usual, half.other))) return;
  const auto whole = compare(usual);
  if (!stopwatch.is_over() && is_clearly_less(whole.usual, whole.other)) thresholds.streamed_bytes = 2 * usual;
}

}  // namespace

std::optional<Thresholds> calibrate(std::chrono::milliseconds most) {
  Stopwatch stopwatch(most);
  Thresholds thresholds;
  try {
    if (!are_cores_free()) return std::nullopt;
    measure_small(stopwatch, thresholds);
    if (stopwatch.is_disturbed() || stopwatch.is_over()) return std::nullopt;
    measure_streams(stopwatch, thresholds);
    if (stopwatch.is_disturbed()) return std::nullopt;
    const Nanos per_byte = measure_helped(stopwatch, thresholds);
    if (!stopwatch.is_over()) measure_waking(thresholds, per_byte);
    if (!stopwatch.is_over()) measure_blocks(stopwatch, thresholds);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
  if (stopwatch.is_disturbed()) return std::nullopt;
  return thresholds;
}

}  // namespace coll

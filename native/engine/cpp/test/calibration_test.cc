#include "calibration/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "programs.h"
#include "threads/member.h"

namespace coll::test {
namespace {

TEST(Calibration, FindsTheSizeOfSmallInputs) {
  for (int round = 0; round < 3; ++round) {
    const std::optional<Thresholds> found = calibrate();
    if (!found) continue;  // the machine is busy with other tests
    const std::size_t sizes[] = {tuning::kAlwaysSmallBytes, 256, 512, 1024, tuning::kMostSmallBytes};
    EXPECT_NE(std::find(std::begin(sizes), std::end(sizes), found->small_bytes), std::end(sizes)) << found->small_bytes;
    const Thresholds usual;
    EXPECT_EQ(found->block_bytes, usual.block_bytes);
    EXPECT_EQ(found->streamed_bytes, usual.streamed_bytes);
    EXPECT_EQ(found->helped_bytes, usual.helped_bytes);
    EXPECT_EQ(found->waking_bytes, usual.waking_bytes);
  }
}

TEST(Calibration, FindsNothingWithoutTime) { EXPECT_FALSE(calibrate(std::chrono::milliseconds(0))); }

// The outputs of two ranks that add up `bytes`, with numbers that are not numbers on some ranks.
std::vector<std::vector<float>> outputs_of(const Thresholds& thresholds, std::size_t bytes, int ranks_with_nan) {
  const auto program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kSum, DType::kFloat32, 2)));
  std::vector<std::byte> board(Board::bytes_for(2));
  std::atomic<std::int32_t> words[5] = {};
  std::vector<std::vector<float>> outputs(2, std::vector<float>(bytes / sizeof(float)));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Member member(Board::in(board.data()), {&words[0], &words[1 + 2 * rank], &words[2 + 2 * rank]}, rank, 2, 2, thresholds);
      std::vector<float> input(bytes / sizeof(float));
      for (std::size_t i = 0; i < input.size(); ++i) input[i] = 0.1f * static_cast<float>(i + 1) + static_cast<float>(rank);
      // A NaN whose bits depend on the rank.
      const std::uint32_t bits = 0x7fc00100u + static_cast<std::uint32_t>(rank);
      for (std::size_t i = 0; rank < ranks_with_nan && i < input.size(); i += 7) std::memcpy(&input[i], &bits, sizeof bits);
      Offer offer{};
      offer.program = program;
      offer.rank = rank;
      offer.length = input.size();
      offer.begins = {0, input.size()};
      offer.buffers = {{reinterpret_cast<const std::byte*>(input.data())}, {reinterpret_cast<std::byte*>(outputs[static_cast<std::size_t>(rank)].data())}};
      offer.fingerprint = bytes;
      offer.id = static_cast<std::uint64_t>(rank) + 1;
      while (member.execute(offer, Wait::kBlocking) != Status::kDone) continue;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outputs;
}

bool are_same(const std::vector<float>& one, const std::vector<float>& other) { return std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0; }

// Which of two NaNs a loop returns depends on the loop. With small inputs all ranks get the same
// NaN.
TEST(Thresholds, KeepBitsEqualOnAllRanks) {
  Thresholds most;
  most.small_bytes = tuning::kMostSmallBytes;
  for (const std::size_t bytes : {36, 256, 1024, 1028, 1980, 1984}) {
    const auto outputs = outputs_of(most, bytes, 2);
    EXPECT_TRUE(are_same(outputs[0], outputs[1])) << bytes;
  }
}

TEST(Thresholds, DoNotChangeBits) {
  Thresholds least;
  least.small_bytes = tuning::kAlwaysSmallBytes;
  least.streamed_bytes = 0;
  Thresholds most;
  most.small_bytes = tuning::kMostSmallBytes;
  most.streamed_bytes = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {4, 36, 256, 1020, 1024, 1028, 1980, 1984, 1988, 4096, 100000}) {
    const auto few = outputs_of(least, bytes, 1);
    const auto many = outputs_of(most, bytes, 1);
    EXPECT_TRUE(are_same(few[0], few[1])) << bytes;
    EXPECT_TRUE(are_same(many[0], many[1])) << bytes;
    EXPECT_TRUE(are_same(few[0], many[0])) << bytes;
  }
}

}  // namespace
}  // namespace coll::test

#include "threads/offer.h"

#include <gtest/gtest.h>

#include <random>

#include "programs.h"

namespace coll::test {
namespace {

constexpr int kRanks = 3;

struct Span {
  std::size_t at;
  std::size_t bytes;
};

bool overlap(Span a, Span b) { return a.at < b.at + b.bytes && b.at < a.at + a.bytes && a.bytes > 0 && b.bytes > 0; }

TEST(Clash, IsDetectedForAnyWrittenMemoryThatTwoRanksShare) {
  std::mt19937 random(4);
  const auto program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kSum, DType::kUint8, kRanks)));
  std::vector<std::byte> memory(100);
  int clashes = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::size_t length = random() % 12;
    std::vector<Offer> offers(kRanks);
    std::vector<const Offer*> pointers;
    std::vector<Span> inputs;
    std::vector<Span> outputs;
    for (Offer& offer : offers) {
      offer.program = program;
      offer.length = length;
      offer.begins = {0, length};
      inputs.push_back({random() % 80, length});
      outputs.push_back({random() % 3 == 0 ? inputs.back().at : random() % 80, length});
      offer.buffers = {{memory.data() + inputs.back().at}, {memory.data() + outputs.back().at}};
      pointers.push_back(&offer);
    }
    bool expected = false;
    for (int a = 0; a < kRanks; ++a) {
      for (int b = 0; b < kRanks; ++b) {
        const auto [i, k] = std::pair{static_cast<std::size_t>(a), static_cast<std::size_t>(b)};
        expected = expected || (a != b && (overlap(outputs[i], inputs[k]) || overlap(outputs[i], outputs[k])));
      }
    }
    EXPECT_EQ(static_cast<bool>(find_clash(pointers.data(), kRanks)), expected) << round;
    clashes += expected ? 1 : 0;
  }
  EXPECT_GT(clashes, 1000);
  EXPECT_LT(clashes, 19000);
}

TEST(Clash, IsDetectedBetweenSegmentsOfOneRank) {
  const auto program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kSum, DType::kUint8, 1)));
  std::vector<std::byte> memory(40);
  Offer offer{};
  offer.program = program;
  offer.length = 20;
  offer.begins = {0, 10, 20};
  std::byte* const at = memory.data();
  const Offer* pointer = &offer;
  offer.buffers = {{at, at + 10}, {at, at + 10}};
  EXPECT_FALSE(find_clash(&pointer, 1));
  offer.buffers = {{at, at + 10}, {at + 10, at + 20}};
  EXPECT_TRUE(find_clash(&pointer, 1));
}

TEST(Clash, ReportsSegmentsThatDiffer) {
  const auto program = std::make_shared<const Program>(parse(chains(Kind::kAllReduce, Op::kSum, DType::kUint8, 2)));
  Offer one{};
  one.program = program;
  one.begins = {0, 4, 8};
  Offer other = one;
  other.begins = {0, 5, 8};
  const Offer* offers[] = {&one, &other};
  EXPECT_TRUE(find_clash(offers, 2).differs);
}

TEST(Fingerprint, DiffersWithEveryNumber) {
  const double numbers[] = {1, 2, 3};
  const double others[] = {1, 2, 4};
  const double swapped[] = {2, 1, 3};
  EXPECT_EQ(fingerprint_of(numbers, 3), fingerprint_of(numbers, 3));
  EXPECT_NE(fingerprint_of(numbers, 3), fingerprint_of(others, 3));
  EXPECT_NE(fingerprint_of(numbers, 3), fingerprint_of(swapped, 3));
}

}  // namespace
}  // namespace coll::test

#if defined(__linux__)

#include "shared/slot_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "programs.h"
#include "shared/rank_state.h"

namespace coll::test {
namespace {

Offer offer_of(Kind kind, Op op, DType dtype, int ranks, std::size_t length) {
  Offer offer{};
  offer.program = std::make_shared<const Program>(parse(chains(kind, op, dtype, ranks)));
  offer.length = length;
  offer.begins = {0, length};
  return offer;
}

TEST(SlotBlocks, CoverEveryElementOnceAndFitIntoSlots) {
  for (int kind = 0; kind < kKindCount; ++kind) {
    for (const auto& [op, dtype] : {std::pair{Op::kSum, DType::kFloat32}, {Op::kSum, DType::kInt8}, {Op::kMean, DType::kInt8}, {Op::kMean, DType::kInt64}}) {
      for (const int ranks : {1, 2, 3, 64}) {
        for (const std::size_t blocks : {0u, 1u, 15u, 5000u, 40'000u}) {
          const Offer offer = offer_of(static_cast<Kind>(kind), op, dtype, ranks, blocks * static_cast<std::size_t>(chunks_of(static_cast<Kind>(kind), ranks)));
          const SlotBlocks all(offer);
          const std::size_t size = std::max(byte_size(dtype), byte_size(result_of(dtype, op)));
          std::vector<int> covered(offer.length);
          for (std::size_t block = 0; block < all.count(); ++block) {
            for (int index = 0; index < all.strips(); ++index) {
              const Range strip = all.strip(block, index);
              for (std::size_t at = strip.begin; at < strip.end; ++at) ++covered[at];
              EXPECT_LE((all.offset(index) + strip.end - strip.begin) * size, kSlotBytes);
            }
          }
          EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), static_cast<std::ptrdiff_t>(offer.length));
        }
      }
    }
  }
}

TEST(SlotBlocks, AreDistributedAcrossAllRanks) {
  for (const std::size_t length : {0u, 1u, 1000u, 300'000u, 700'001u}) {
    const SlotBlocks blocks(offer_of(Kind::kAllReduce, Op::kSum, DType::kFloat32, 3, length));
    for (std::size_t block = 0; block < blocks.count(); ++block) {
      std::size_t at = blocks.strip(block, 0).begin;
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(blocks.slice(block, rank).begin, at);
        at = blocks.slice(block, rank).end;
      }
      EXPECT_EQ(at, blocks.strip(block, 0).end);
    }
  }
}

}  // namespace
}  // namespace coll::test

#endif

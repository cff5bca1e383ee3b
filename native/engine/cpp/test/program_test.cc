#include "threads/program.h"

#include <gtest/gtest.h>

#include <random>

#include "error.h"
#include "programs.h"

namespace coll::test {
namespace {

TEST(Program, CutsABufferIntoChunks) {
  const Program program = parse(chains(Kind::kAllReduce, Op::kSum, DType::kFloat32, 3));
  EXPECT_EQ(program.chunk_at(10, 0).index, 0u);
  EXPECT_EQ(program.chunk_at(10, 0).end, 4u);
  EXPECT_EQ(program.chunk_at(10, 4).index, 1u);
  EXPECT_EQ(program.chunk_at(10, 9).index, 2u);
  EXPECT_EQ(program.chunk_at(10, 9).end, 10u);
}

TEST(Program, CutsBlocksIntoChunks) {
  Words words = head(Kind::kReduceScatter, Op::kSum, DType::kFloat32, 2, 0, 4);
  for (int chunk = 0; chunk < 4; ++chunk) words.insert(words.end(), {1, 2, 0, 1});
  const Program program = parse(words);
  EXPECT_EQ(program.chunk_at(10, 0).end, 3u);
  EXPECT_EQ(program.chunk_at(10, 4).index, 1u);
  EXPECT_EQ(program.chunk_at(10, 4).end, 5u);
  EXPECT_EQ(program.chunk_at(10, 5).index, 2u);
  EXPECT_TRUE(program.receives(1, 3));
  EXPECT_FALSE(program.receives(0, 3));
}

TEST(Program, CutsBlocksOfPairsIntoChunks) {
  Words words = head(Kind::kAllToAll, Op::kSum, DType::kFloat32, 2, 0, 8);
  for (int chunk = 0; chunk < 8; ++chunk) words.insert(words.end(), {1, 1, chunk / 4});
  const Program program = parse(words);
  EXPECT_EQ(program.chunk_at(20, 4).index, 1u);
  EXPECT_EQ(program.chunk_at(20, 4).end, 5u);
  EXPECT_EQ(program.chunk_range(20, 5).begin, 13u);
  EXPECT_EQ(program.chunk_range(20, 5).end, 15u);
  // The block from rank 1 to rank 0 is the first block of rank 1's input and the second one of rank
  // 0's output.
  EXPECT_TRUE(program.contributes(1, 5));
  EXPECT_TRUE(program.receives(0, 5));
  EXPECT_FALSE(program.receives(1, 5));
  EXPECT_EQ(program.input_shift(20, 5), 10u);
  EXPECT_EQ(program.output_shift(20, 5), 5u);
}

TEST(Program, MergesChunksWithTheSameSteps) {
  Words words = head(Kind::kAllReduce, Op::kSum, DType::kFloat32, 3, 0, 3);
  for (int chunk = 0; chunk < 3; ++chunk) words.insert(words.end(), {1, 3, 0, 1, 2});
  const Program alike = parse(words);
  EXPECT_EQ(alike.chunks.size(), 1u);
  EXPECT_EQ(alike.chunk_at(10, 4).index, 0u);
  EXPECT_EQ(alike.chunk_at(10, 4).end, 10u);
  words.back() = 1;
  EXPECT_EQ(parse(words).chunks.size(), 3u);
}

TEST(Program, ReturnsWhichRanksReadAndWrite) {
  const Program broadcast = parse(chains(Kind::kBroadcast, Op::kSum, DType::kInt8, 3, 1));
  EXPECT_FALSE(broadcast.reads(0));
  EXPECT_TRUE(broadcast.reads(1));
  EXPECT_TRUE(broadcast.writes(0));
  const Program reduce = parse(chains(Kind::kReduce, Op::kMax, DType::kInt8, 3, 2));
  EXPECT_TRUE(reduce.reads(0));
  EXPECT_FALSE(reduce.writes(0));
  EXPECT_EQ(reduce.chunks[0].targets.count, 1u);
  const Program gather = parse(chains(Kind::kGather, Op::kSum, DType::kInt8, 3, 2));
  EXPECT_TRUE(gather.reads(0));
  EXPECT_FALSE(gather.writes(0));
  EXPECT_TRUE(gather.writes(2));
  const Program scatter = parse(chains(Kind::kScatter, Op::kSum, DType::kInt8, 3, 2));
  EXPECT_FALSE(scatter.reads(0));
  EXPECT_TRUE(scatter.reads(2));
  EXPECT_TRUE(scatter.writes(0));
}

struct Wrong {
  const char* what;
  Words words;
};

TEST(Program, RefusesProgramsThatCannotBeExecuted) {
  const std::vector<Wrong> wrong = {
      {"nothing", {}},
      {"an unknown kind", {8, 0, 2, 1, 0, 1, 1, 1, 0}},
      {"an unknown dtype", {0, 0, 13, 1, 0, 1, 1, 1, 0}},
      {"no rank", {0, 0, 2, 0, 0, 1, 1, 1, 0}},
      {"too many ranks", {0, 0, 2, 1 << 20, 0, 1, 1, 1, 0}},
      {"a root outside the group", {2, 0, 2, 2, 2, 1, 1, 1, 0}},
      {"more chunks than words", {0, 0, 2, 1, 0, 1 << 20, 1, 1, 0}},
      {"a chain without ranks", {0, 0, 2, 1, 0, 1, 1, 0}},
      {"a rank outside the group", {0, 0, 2, 2, 0, 1, 1, 2, 0, 2}},
      {"a chain that ends early", {0, 0, 2, 2, 0, 1, 1, 2, 0}},
      {"a chain that reads nothing", {2, 0, 2, 2, 0, 1, 1, 1, 1}},
      {"a broadcast that adds", {2, 0, 2, 2, 0, 1, 1, 2, 0, 0}},
      {"chunks that cannot be divided into blocks", {3, 0, 2, 2, 0, 3, 1, 1, 0, 1, 1, 0, 1, 1, 1}},
      {"chunks that cannot be divided into blocks of pairs", {7, 0, 2, 2, 0, 2, 1, 1, 0, 1, 1, 0}},
      {"a gather of what another rank has", {5, 0, 2, 2, 0, 2, 1, 1, 0, 1, 1, 0}},
      {"a scatter of what only the root has", {6, 0, 2, 2, 1, 2, 1, 1, 0, 1, 1, 1}},
      {"a step that reads nothing", {2, 0, 2, 2, 0, 1, 0, 1, 0, 1, 1}},
      {"a rank without its result", {2, 0, 2, 2, 0, 1, 0, 0}},
      {"a negative number of steps", {0, 0, 2, 1, 0, 1, 0, -1}},
      {"words after the end", {0, 0, 2, 1, 0, 1, 1, 1, 0, 0}},
  };
  for (const Wrong& program : wrong) EXPECT_THROW(parse(program.words), Error) << program.what;
}

TEST(Program, RefusesOrAcceptsRandomWordsButNeverCrashes) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> small(-2, 9);
  std::uniform_int_distribution<std::size_t> lengths(0, 60);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    Words words(lengths(random));
    for (std::int32_t& word : words) word = round % 8 == 0 ? static_cast<std::int32_t>(random()) : small(random);
    try {
      parse(words);
      ++accepted;
    } catch (const Error&) {
    }
  }
  // Random words are hardly ever a program.
  EXPECT_LT(accepted, 200);
}

}  // namespace
}  // namespace coll::test

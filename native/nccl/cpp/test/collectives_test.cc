#include "gpus.h"

namespace coll::test {
namespace {

std::vector<float> row_of(int rank, std::size_t count) {
  std::vector<float> row(count);
  for (std::size_t i = 0; i < count; ++i) row[i] = static_cast<float>((rank + 1) * 100) + static_cast<float>(i);
  return row;
}

std::vector<SharedAllocation> rows(int size, std::size_t count) {
  std::vector<SharedAllocation> made;
  for (int rank = 0; rank < size; ++rank) made.push_back(allocate_with(rank, row_of(rank, count)));
  return made;
}

std::vector<SharedAllocation> empty(int size, std::size_t bytes) {
  std::vector<SharedAllocation> made;
  for (int rank = 0; rank < size; ++rank) made.push_back(allocate(rank, bytes));
  return made;
}

std::vector<float> sum_of(int size, std::size_t count) {
  std::vector<float> sum(count);
  for (int rank = 0; rank < size; ++rank) {
    for (std::size_t i = 0; i < count; ++i) sum[i] += row_of(rank, count)[i];
  }
  return sum;
}

class Collectives : public testing::TestWithParam<std::tuple<int, std::size_t, bool>> {
 protected:
  void TearDown() override { EXPECT_FALSE(run(destroy_clique(gpus(), clique))); }

  int size = std::get<0>(GetParam());
  std::size_t count = std::get<1>(GetParam());
  std::shared_ptr<Clique> clique = open_all(size, std::get<2>(GetParam()));

  void execute(const Call& call) {
    const std::optional<Failure> failure = run(run_calls(gpus(), clique, {call}));
    ASSERT_FALSE(failure) << failure->message;
  }
};

TEST_P(Collectives, allReduceInPlaceAndInSeparateMemory) {
  const std::vector<SharedAllocation> inputs = rows(size, count);
  const std::vector<SharedAllocation> outputs = empty(size, count * 4);
  execute(call_of(Kind::kAllReduce, kFloat32, kSum, count, inputs, outputs));
  execute(call_of(Kind::kAllReduce, kFloat32, kMaximum, count, inputs, inputs));
  for (int rank = 0; rank < size; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    EXPECT_EQ(values_of<float>(outputs[i]), sum_of(size, count));
    EXPECT_EQ(values_of<float>(inputs[i]), row_of(size - 1, count));
  }
}

TEST_P(Collectives, reduceAndBroadcast) {
  const int root = size - 1;
  const auto at = static_cast<std::size_t>(root);
  const std::vector<SharedAllocation> inputs = rows(size, count);
  const SharedAllocation output = allocate(root, count * 4);
  std::vector<SharedAllocation> outputs(static_cast<std::size_t>(size));
  outputs[at] = output;
  execute(call_of(Kind::kReduce, kFloat32, kSum, count, inputs, outputs, root));
  EXPECT_EQ(values_of<float>(output), sum_of(size, count));
  execute(call_of(Kind::kBroadcast, kFloat32, kSum, count, outputs, inputs, root));
  for (const SharedAllocation& copy : inputs) EXPECT_EQ(values_of<float>(copy), sum_of(size, count));
}

TEST_P(Collectives, allGatherAndReduceScatter) {
  const auto ranks = static_cast<std::size_t>(size);
  const std::vector<SharedAllocation> gathered = empty(size, ranks * count * 4);
  execute(call_of(Kind::kAllGather, kFloat32, kSum, count, rows(size, count), gathered));
  std::vector<float> whole;
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<float> row = row_of(rank, count);
    whole.insert(whole.end(), row.begin(), row.end());
  }
  for (const SharedAllocation& copy : gathered) EXPECT_EQ(values_of<float>(copy), whole);
  const std::vector<SharedAllocation> parts = empty(size, count * 4);
  execute(call_of(Kind::kReduceScatter, kFloat32, kSum, count, gathered, parts));
  for (int rank = 0; rank < size; ++rank) {
    std::vector<float> expected = row_of(rank, count);
    for (float& value : expected) value *= static_cast<float>(size);
    EXPECT_EQ(values_of<float>(parts[static_cast<std::size_t>(rank)]), expected);
  }
}

TEST_P(Collectives, gatherAndScatter) {
  const auto ranks = static_cast<std::size_t>(size);
  const int root = size - 1;
  const auto at = static_cast<std::size_t>(root);
  std::vector<SharedAllocation> whole(ranks);
  whole[at] = allocate(root, ranks * count * 4);
  execute(call_of(Kind::kGather, kFloat32, kSum, count, rows(size, count), whole, root));
  const std::vector<float> gathered = values_of<float>(whole[at]);
  const std::vector<SharedAllocation> parts = empty(size, count * 4);
  execute(call_of(Kind::kScatter, kFloat32, kSum, count, whole, parts, root));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::vector<float> row = row_of(static_cast<int>(rank), count);
    const auto begin = gathered.begin() + static_cast<std::ptrdiff_t>(rank * count);
    EXPECT_TRUE(std::equal(row.begin(), row.end(), begin));
    EXPECT_EQ(values_of<float>(parts[rank]), row);
  }
}

TEST_P(Collectives, allToAll) {
  const auto ranks = static_cast<std::size_t>(size);
  const std::vector<SharedAllocation> outputs = empty(size, ranks * count * 4);
  execute(call_of(Kind::kAllToAll, kFloat32, kSum, count, rows(size, ranks * count), outputs));
  for (std::size_t to = 0; to < ranks; ++to) {
    std::vector<float> expected;
    for (std::size_t from = 0; from < ranks; ++from) {
      const std::vector<float> row = row_of(static_cast<int>(from), ranks * count);
      const auto begin = row.begin() + static_cast<std::ptrdiff_t>(to * count);
      expected.insert(expected.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    }
    EXPECT_EQ(values_of<float>(outputs[to]), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives,
                         testing::Combine(testing::Values(1, 2, 4), testing::Values(std::size_t{0}, std::size_t{1}, std::size_t{1000}), testing::Bool()));

TEST(GroupCalls, manyCallsRunInOneGroupInOrder) {
  const std::shared_ptr<Clique> clique = open_all(3);
  const std::vector<SharedAllocation> buffers = rows(3, 10);
  std::vector<Call> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(call_of(Kind::kBroadcast, kFloat32, kSum, 10, buffers, buffers, i % 3));
  calls.push_back(call_of(Kind::kAllReduce, kFloat32, kSum, 10, buffers, buffers));
  EXPECT_FALSE(run(run_calls(gpus(), clique, calls)));
  std::vector<float> expected = row_of(0, 10);
  for (float& value : expected) value *= 3;
  for (const SharedAllocation& buffer : buffers) EXPECT_EQ(values_of<float>(buffer), expected);
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

TEST(GroupCalls, messagesCanBeGroupedWithCollectives) {
  const std::shared_ptr<Clique> clique = open_all(3);
  const std::vector<SharedAllocation> sums = rows(3, 10);
  const std::vector<SharedAllocation> exchanged = empty(3, 3 * 4);
  std::vector<SharedAllocation> gathered(3);
  gathered[1] = allocate(1, 3 * 4);
  EXPECT_FALSE(run(run_calls(gpus(), clique,
                             {call_of(Kind::kGather, kFloat32, kSum, 1, rows(3, 1), gathered, 1), call_of(Kind::kAllReduce, kFloat32, kMaximum, 10, sums, sums),
                              call_of(Kind::kAllToAll, kFloat32, kSum, 1, rows(3, 3), exchanged)})));
  for (const SharedAllocation& sum : sums) EXPECT_EQ(values_of<float>(sum), row_of(2, 10));
  EXPECT_EQ(values_of<float>(gathered[1]), (std::vector<float>{100, 200, 300}));
  EXPECT_EQ(values_of<float>(exchanged[2]), (std::vector<float>{102, 202, 302}));
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

TEST(GroupCalls, collectivesWaitForOperationsThatWriteTheirInputs) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const std::vector<SharedAllocation> buffers = rows(2, 100000);
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 20; ++i) {
    for (const SharedAllocation& buffer : buffers) outcomes.push_back(submit(fill_buffer(gpus(), {buffer, 0}, buffer->bytes, {1, 0, 0, 0})));
    outcomes.push_back(submit(run_calls(gpus(), clique, {call_of(Kind::kAllReduce, kInt32, kSum, 100000, buffers, buffers)})));
  }
  for (Outcome& outcome : outcomes) EXPECT_FALSE(outcome.get());
  for (const SharedAllocation& buffer : buffers) EXPECT_EQ(values_of<int>(buffer), std::vector<int>(100000, 2));
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

TEST(Splits, createIndependentGroups) {
  const std::shared_ptr<Clique> parent = open_all(4);
  const auto parts = std::make_shared<std::vector<Part>>();
  EXPECT_FALSE(run(split_clique(gpus(), parent, {{0, 1, 0, -1}, {1, 0, 0, 0}, "part"}, parts)));
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].places, (std::vector<int>{0, 2}));
  // By its key, the second rank becomes the first.
  EXPECT_EQ((*parts)[0].clique->ranks, (std::vector<int>{1, 0}));
  EXPECT_EQ((*parts)[1].clique->size, 1);
  const std::vector<SharedAllocation> buffers = {allocate_with<float>(0, {1}), allocate_with<float>(2, {2})};
  EXPECT_FALSE(run(run_calls(gpus(), (*parts)[0].clique, {call_of(Kind::kAllReduce, kFloat32, kSum, 1, buffers, buffers)})));
  EXPECT_EQ(values_of<float>(buffers[1])[0], 3);
  for (const Part& part : *parts) EXPECT_FALSE(run(destroy_clique(gpus(), part.clique)));
  EXPECT_FALSE(run(destroy_clique(gpus(), parent)));
}

TEST(Requests, impossibleRequestsAreRefusedBeforeAnyDataMoves) {
  const std::shared_ptr<Clique> clique = open_all(2);
  const std::vector<SharedAllocation> buffers = rows(2, 4);
  const std::vector<SharedAllocation> crossed = {buffers[1], buffers[0]};
  const auto refused = [&](const Call& call) { EXPECT_THROW(run_calls(gpus(), clique, {call}), Error); };
  refused(call_of(Kind::kAllReduce, kFloat32, kSum, 5, buffers, buffers));
  refused(call_of(Kind::kAllGather, kFloat32, kSum, 4, buffers, buffers));
  refused(call_of(Kind::kReduceScatter, kFloat32, kSum, 4, buffers, buffers));
  refused(call_of(Kind::kAllReduce, kFloat32, kSum, 4, crossed, crossed));
  refused(call_of(Kind::kAllReduce, 99, kSum, 4, buffers, buffers));
  refused(call_of(Kind::kAllReduce, kFloat32, 5, 4, buffers, buffers));
  refused(call_of(Kind::kBroadcast, kFloat32, kSum, 4, buffers, buffers, 2));
  refused(call_of(Kind::kGather, kFloat32, kSum, 4, buffers, buffers, 0));
  refused(call_of(Kind::kScatter, kFloat32, kSum, 4, buffers, buffers, 1));
  refused(call_of(Kind::kScatter, kFloat32, kSum, 2, buffers, buffers, -1));
  refused(call_of(Kind::kAllToAll, kFloat32, kSum, 3, buffers, buffers));
  EXPECT_FALSE(run(destroy_clique(gpus(), clique)));
}

}  // namespace
}  // namespace coll::test

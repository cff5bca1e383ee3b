#include <gtest/gtest.h>

#include <thread>

#include "../error.h"
#include "ranks.h"

namespace coll::test {
namespace {

using Floats = std::vector<float>;

std::shared_ptr<Plan> sum_of(Floats& values, Op op = Op::kSum) {
  return plan_of(Kind::kAllReduce, op, DType::kFloat32, values.size(), {segment_of(values)}, {segment_of(values)});
}

// Runs a check with a group of all ranks, and ends MPI.
std::string in_group(int size, const std::function<bool(Group&)>& check) {
  return in_ranks(size, [&] {
    started_engine();
    const bool is_right = check(*open_group());
    end_engine();
    return is_right;
  });
}

Floats rank_of(const Group& group, std::size_t count) { return Floats(count, static_cast<float>(group.rank() + 1)); }

TEST(Groups, combineInPlaceAndIntoOtherMemory) {
  EXPECT_EQ(in_group(3, [](Group& group) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3000}}) {
      Floats own = rank_of(group, count);
      Floats into(count);
      const auto plan = plan_of(Kind::kAllReduce, Op::kSum, DType::kFloat32, count, {segment_of(own)}, {segment_of(into)});
      if (run(group, plan) != Status::kDone || into != Floats(count, 6) || own != rank_of(group, count)) return false;
      if (run(group, sum_of(own)) != Status::kDone || own != Floats(count, 6)) return false;
    }
    return true;
  }), "");
}

TEST(Groups, joinSegmentsAndCutResults) {
  EXPECT_EQ(in_group(2, [](Group& group) {
    Floats one = rank_of(group, 2), two = rank_of(group, 3), first(4), second(1);
    const auto plan = plan_of(Kind::kAllReduce, Op::kMean, DType::kFloat32, 5, {segment_of(one), segment_of(two)}, {segment_of(first), segment_of(second)});
    return run(group, plan) == Status::kDone && first == Floats(4, 1.5f) && second == Floats(1, 1.5f);
  }), "");
}

TEST(Groups, meansOfIntegersAreWrittenAsFloats) {
  EXPECT_EQ(in_group(2, [](Group& group) {
    // The sum of the ranks' values wraps around in 32 bits.
    std::vector<std::int32_t> own(5, (1 << 30) + group.rank());
    std::vector<double> into(5);
    const auto plan = plan_of(Kind::kAllReduce, Op::kMean, DType::kInt32, 5, {segment_of(own)}, {segment_of(into)});
    if (run(group, plan) != Status::kDone || into != std::vector<double>(5, (1 << 30) + 0.5)) return false;
    std::vector<std::uint8_t> bytes(4, 200);
    std::vector<float> one(2);
    const auto scatter = plan_of(Kind::kReduceScatter, Op::kMean, DType::kUint8, 2, {segment_of(bytes)}, {segment_of(one)});
    if (run(group, scatter) != Status::kDone || one != std::vector<float>(2, 200)) return false;
    std::vector<float> first(1), rest(3);
    const auto reduce = plan_of(Kind::kReduce, Op::kMean, DType::kUint8, 4, {segment_of(bytes)}, {segment_of(first), segment_of(rest)}, 0);
    if (run(group, reduce) != Status::kDone) return false;
    return group.rank() != 0 || (first == std::vector<float>(1, 200) && rest == std::vector<float>(3, 200));
  }), "");
}

TEST(Groups, halfTypesMayBeSentAsFloat32) {
  EXPECT_EQ(in_group(3, [](Group& group) {
    // 2048 + 1 + 1 is 2050 if it is rounded once, and 2048 if it is rounded at each step.
    std::vector<std::uint16_t> own = {static_cast<std::uint16_t>(group.rank() == 0 ? 0x6800 : 0x3c00)};
    for (const bool is_wide : {false, true}) {
      std::vector<std::uint16_t> into(1);
      const auto plan = plan_of(Kind::kAllReduce, Op::kSum, DType::kFloat16, 1, {segment_of(own)}, {segment_of(into)});
      plan->is_wide = is_wide;
      if (run(group, plan) != Status::kDone || into[0] != (is_wide ? 0x6801 : 0x6800)) return false;
    }
    return true;
  }), "");
}

TEST(Groups, moveBlocksToAndFromARoot) {
  EXPECT_EQ(in_group(3, [](Group& group) {
    const int root = 1;
    Floats own = rank_of(group, 2), all(6), back(2), result(2);
    if (run(group, plan_of(Kind::kGather, Op::kSum, DType::kFloat32, 2, {segment_of(own)}, {segment_of(all)}, root)) != Status::kDone) return false;
    if (group.rank() == root && all != Floats{1, 1, 2, 2, 3, 3}) return false;
    if (run(group, plan_of(Kind::kScatter, Op::kSum, DType::kFloat32, 2, {segment_of(all)}, {segment_of(back)}, root)) != Status::kDone || back != own) return false;
    if (run(group, plan_of(Kind::kReduce, Op::kMax, DType::kFloat32, 2, {segment_of(own)}, {segment_of(result)}, root)) != Status::kDone) return false;
    if (group.rank() == root && result != Floats{3, 3}) return false;
    if (run(group, plan_of(Kind::kBroadcast, Op::kSum, DType::kFloat32, 2, {segment_of(result)}, {segment_of(result)}, root)) != Status::kDone) return false;
    return result == Floats{3, 3};
  }), "");
}

TEST(Groups, moveBlocksBetweenAllRanks) {
  EXPECT_EQ(in_group(3, [](Group& group) {
    Floats own = rank_of(group, 1), all(3), shuffled(3), sum(1);
    if (run(group, plan_of(Kind::kAllGather, Op::kSum, DType::kFloat32, 1, {segment_of(own)}, {segment_of(all)})) != Status::kDone || all != Floats{1, 2, 3}) return false;
    for (float& value : all) value += static_cast<float>(10 * group.rank());
    if (run(group, plan_of(Kind::kAllToAll, Op::kSum, DType::kFloat32, 1, {segment_of(all)}, {segment_of(shuffled)})) != Status::kDone) return false;
    const float mine = static_cast<float>(group.rank() + 1);
    if (shuffled != Floats{mine, mine + 10, mine + 20}) return false;
    if (run(group, plan_of(Kind::kReduceScatter, Op::kSum, DType::kFloat32, 1, {segment_of(all)}, {segment_of(sum)})) != Status::kDone) return false;
    return sum == Floats{3 * mine + 30};
  }), "");
}

TEST(Groups, compareTheFirstCallOfEachShape) {
  EXPECT_EQ(in_group(2, [](Group& group) {
    Floats own(static_cast<std::size_t>(2 + group.rank()));
    return run(group, sum_of(own)) == Status::kDisagreed && group.announcements().size() == std::size_t{2 * kAnnouncedFields};
  }), "");
}

TEST(Groups, compareEveryCallOnRequest) {
  EXPECT_EQ(in_group(2, [](Group& group) {
    Floats two(2), three(3);
    if (run(group, sum_of(two)) != Status::kDone || run(group, sum_of(three)) != Status::kDone) return false;
    return run(group, sum_of(group.rank() == 0 ? two : three), 20'000, true) == Status::kDisagreed;
  }), "");
}

TEST(Groups, nameTheRankThatDidNotArrive) {
  const auto check = [](Group& group) {
    Floats own(1);
    if (run(group, sum_of(own)) != Status::kDone) return false;
    if (group.rank() == 2) {
      // Its thread of MPI answers the other ranks, and learns of the failure.
      while (true) {
        bool has_failed = false;
        Engine::the().own([&] { has_failed = group.failure().has_value(); });
        if (has_failed) return group.failure()->reason == Reason::kDeadline;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    if (run(group, sum_of(own), 200) != Status::kFailed) return false;
    const Failure& failure = *group.failure();
    return failure.reason == Reason::kDeadline && failure.ranks == std::vector<int>{2} && failure.text == "did not arrive at the call";
  };
  // Accepts that a rank which the system stops for a quarter of a second is named as well.
  std::string problem = in_group(3, check);
  for (int again = 0; again < 5 && !problem.empty(); ++again) problem = in_group(3, check);
  EXPECT_EQ(problem, "");
}

TEST(Groups, nameTheRankThatHasLeft) {
  EXPECT_EQ(in_group(2, [](Group& group) {
    if (group.rank() == 1) return true;
    Floats own(1);
    return run(group, sum_of(own)) == Status::kFailed && group.failure()->reason == Reason::kClosed && group.failure()->rank == 1;
  }), "");
}

TEST(Groups, splitByColorAndKey) {
  EXPECT_EQ(in_ranks(3, [] {
    const int rank = started_engine().facts().rank;
    const auto whole = open_group();
    // Rank 1 takes no part, and the other ranks change their order.
    const auto part = split_group(whole, rank == 1 ? -1 : 0, -rank);
    bool is_right = rank == 1 ? part == nullptr : part->size() == 2 && part->rank() == (rank == 2 ? 0 : 1);
    if (part) {
      Floats own(1, static_cast<float>(rank));
      is_right = is_right && run(*part, sum_of(own)) == Status::kDone && own[0] == 2;
    }
    end_engine();
    return is_right;
  }), "");
}

TEST(Groups, deliverPostsInTheirOrder) {
  EXPECT_EQ(in_group(2, [](Group& group) {
    Engine& engine = Engine::the();
    if (group.rank() == 0) {
      engine.own([&] {
        for (std::uint64_t number = 1; number <= 3; ++number) group.post(1, encode(number));
      });
      return true;
    }
    std::vector<std::uint64_t> numbers;
    while (numbers.size() < 3) {
      engine.own([&] {
        for (; !group.events.empty(); group.events.pop_front())
          if (group.events.front().note == Note::kPost) numbers.push_back(decode_number(group.events.front().bytes));
      });
    }
    return numbers == std::vector<std::uint64_t>{1, 2, 3};
  }), "");
}

// Threads of JavaScript take turns, and the thread of MPI continues calls that no thread waits for.
TEST(Groups, ofSeveralThreadsAreMovedOnTogether) {
  EXPECT_EQ(in_ranks(2, [] {
    started_engine();
    const std::vector<std::shared_ptr<Group>> groups = {open_group(), open_group(), open_group()};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      threads.emplace_back([&, i] {
        Group& group = *groups[i];
        for (int round = 1; round <= 30; ++round) {
          Floats own = {static_cast<float>(group.rank() + round)};
          const auto plan = sum_of(own);
          if (i == 0) {
            // No thread waits for this call: the thread of MPI completes it.
            Status status = Engine::the().begin(group, plan, 20'000, false, 0);
            while (status == Status::kPending) {
              std::this_thread::yield();
              Engine::the().own([&] { status = group.status(); });
            }
            if (status != Status::kDone) ++wrong;
          } else if (run(group, plan) != Status::kDone) {
            ++wrong;
          }
          if (own[0] != static_cast<float>(2 * round + 1)) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    end_engine();
    return wrong == 0;
  }), "");
}

}  // namespace
}  // namespace coll::test

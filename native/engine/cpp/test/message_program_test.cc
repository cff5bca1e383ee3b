#if defined(__linux__)

#include <gtest/gtest.h>

#include "message_case.h"
#include "message_group.h"

namespace coll::test {
namespace {

MessageProgram parse_for(const Words& words, int rank) { return parse_message_program(words.data(), words.size(), rank); }

TEST(MessageProgram, HasTheSameMessagesOnBothSides) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const Schedule schedule = random_schedule(Kind::kAllReduce, Op::kSum, DType::kFloat16, 5, 0, 4, random);
    std::vector<MessageProgram> parts;
    for (int rank = 0; rank < 5; ++rank) parts.push_back(parse_for(message_words(schedule), rank));
    for (const MessageProgram& part : parts) {
      for (const Peer& peer : part.peers) {
        const MessageProgram& other = parts[static_cast<std::size_t>(peer.rank)];
        const auto back = std::find_if(other.peers.begin(), other.peers.end(), [&](const Peer& found) { return found.rank == part.rank; });
        ASSERT_NE(back, other.peers.end());
        ASSERT_EQ(peer.sent.size(), back->received.size());
        for (std::size_t i = 0; i < peer.sent.size(); ++i) {
          EXPECT_EQ(part.values[peer.sent[i]].chunk, other.values[other.steps[back->received[i]].value].chunk);
        }
      }
    }
  }
}

TEST(MessageProgram, SendsHalfTypesWithoutLossOfPrecision) {
  const MessageProgram part = parse_for(message_words(ring_all_reduce(Op::kSum, DType::kFloat16, 3)), 0);
  const Peer& next = part.peers[0];
  ASSERT_EQ(next.sent.size(), 4u);
  EXPECT_EQ(part.values[next.sent[0]].form, Form::kContribution);
  EXPECT_EQ(part.values[next.sent[1]].form, Form::kPartial);
  EXPECT_EQ(part.values[next.sent[1]].where, Where::kWork);
  EXPECT_EQ(part.values[next.sent[2]].form, Form::kResult);
  EXPECT_EQ(part.values[next.sent[2]].where, Where::kOutput);
  EXPECT_EQ(dtype_of(part, Form::kPartial), DType::kFloat32);
}

TEST(MessageProgram, OmitsStepsThatNoResultDependsOn) {
  Schedule schedule{Kind::kReduce, Op::kSum, DType::kInt8, 3, 0, 1, {{{0, 0, {0, 1, 2}}}, {{0, 1, {0}}}}};
  EXPECT_TRUE(parse_for(message_words(schedule), 0).peers[0].sent.empty());
  EXPECT_TRUE(parse_for(message_words(schedule), 1).peers[0].received.empty());
}

std::vector<int> peers_of(const Schedule& schedule, int rank) {
  std::vector<int> ranks;
  for (const Peer& peer : parse_for(message_words(schedule), rank).peers) ranks.push_back(peer.rank);
  return ranks;
}

TEST(MessageProgram, HasOnlyThePeersOfTheSchedule) {
  for (const Schedule& schedule : sparse_schedules()) {
    for (int rank = 0; rank < 8; ++rank) {
      std::vector<int> expected;
      for (int other = 0; other < 8; ++other) {
        if (other != rank && moves_between(schedule, rank, other)) expected.push_back(other);
      }
      EXPECT_EQ(peers_of(schedule, rank), expected) << rank;
    }
  }
  EXPECT_EQ(peers_of(ring_all_reduce(Op::kSum, DType::kFloat32, 4), 0), (std::vector<int>{1, 2, 3})) << "few ranks announce themselves to all";
}

TEST(MessageProgram, AgreesByResultsOrAlongATree) {
  const auto part = [](const Schedule& schedule, int rank) { return parse_for(message_words(schedule), rank); };
  EXPECT_EQ(part(ring_all_reduce(Op::kSum, DType::kFloat32, 4), 0).agreement, Agreement::kAnnounced);
  EXPECT_EQ(part(ring_all_reduce(Op::kSum, DType::kFloat32, 8), 0).agreement, Agreement::kImplied);
  const MessageProgram broadcast = part(tree(Kind::kBroadcast, Op::kSum, DType::kFloat32, 8), 1);
  EXPECT_EQ(broadcast.agreement, Agreement::kGathered);
  std::vector<Kinship> kinships;
  for (const Peer& peer : broadcast.peers) kinships.push_back(peer.kinship);
  EXPECT_EQ(kinships, (std::vector<Kinship>{Kinship::kParent, Kinship::kChild, Kinship::kChild})) << "rank 0, then 3 and 5";
}

// Rank 1 has nothing to send or receive.
TEST(MessageProgram, AgreesWithRanksThatExchangeNothing) {
  const Schedule schedule{Kind::kReduce, Op::kSum, DType::kInt8, 6, 0, 1, {{{0, 0, {0, 2, 3, 4, 5}}}}};
  EXPECT_EQ(peers_of(schedule, 1), std::vector<int>{0});
  EXPECT_EQ(peers_of(schedule, 0), (std::vector<int>{1, 2, 3, 4, 5}));
}

struct WrongMessages {
  const char* what;
  Words words;
};

TEST(MessageProgram, RefusesProgramsThatCannotBeExecuted) {
  // An all-reduce of float32 among two ranks in one chunk is {0, 0, 2, 2, 0, 1, 2, 1, 0, 0, 2, 0, 1, 1, 0, 1, 1, 0}.
  const std::vector<WrongMessages> wrong = {
      {"nothing", {}},
      {"an unknown kind", {8, 0, 2, 1, 0, 1, 0}},
      {"no rank", {0, 0, 2, 0, 0, 1, 0}},
      {"a root outside the group", {2, 0, 2, 2, 2, 1, 0}},
      {"a mean of bools", {0, 1, 12, 1, 0, 1, 0}},
      {"too many chunks", {0, 0, 2, 4, 0, 1 << 21, 0}},
      {"chunks that cannot be divided into blocks", {3, 0, 2, 2, 0, 3, 0}},
      {"no rounds", {0, 0, 2, 1, 0, 1}},
      {"a negative number of rounds", {0, 0, 2, 1, 0, 1, -1}},
      {"more rounds than words", {0, 0, 2, 1, 0, 1, 1000000}},
      {"words after the end", {0, 0, 2, 1, 0, 1, 0, 0}},
      {"a chunk that is out of range", {0, 0, 2, 2, 0, 1, 1, 1, 1, 0, 2, 0, 1}},
      {"a rank outside the group", {0, 0, 2, 2, 0, 1, 1, 1, 0, 2, 2, 0, 1}},
      {"an operand outside the group", {0, 0, 2, 2, 0, 1, 1, 1, 0, 0, 2, 0, 2}},
      {"an operand twice", {0, 0, 2, 2, 0, 1, 1, 1, 0, 0, 2, 0, 0}},
      {"a step without operands", {0, 0, 2, 2, 0, 1, 1, 1, 0, 0, 0}},
      {"a step that ends early", {0, 0, 2, 2, 0, 1, 1, 1, 0, 0, 2, 0}},
      {"a copy of a chunk to itself", {0, 0, 2, 2, 0, 1, 1, 1, 0, 0, 1, 0}},
      {"a combination without the chunk of its own rank", {0, 0, 2, 3, 0, 1, 1, 1, 0, 0, 2, 1, 2}},
      {"a broadcast that adds", {2, 0, 2, 2, 0, 1, 1, 1, 0, 1, 2, 0, 1}},
      {"a step that reads nothing", {2, 0, 2, 3, 0, 1, 1, 1, 0, 1, 1, 2}},
      {"a rank without its result", {2, 0, 2, 2, 0, 1, 0}},
      {"a round that reads what it writes", {0, 0, 2, 2, 0, 1, 1, 2, 0, 0, 2, 0, 1, 0, 1, 1, 0}},
      {"a round that writes what it read", {0, 0, 2, 2, 0, 1, 1, 2, 0, 1, 1, 0, 0, 0, 2, 0, 1}},
      {"a round that writes twice", {0, 0, 2, 3, 0, 1, 1, 2, 0, 0, 2, 0, 1, 0, 0, 2, 0, 2}},
      {"a copied contribution as a result", {0, 0, 2, 2, 0, 1, 1, 1, 0, 1, 1, 0}},
      {"a finished result that is combined again", {0, 0, 2, 2, 0, 1, 3, 1, 0, 0, 2, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 2, 0, 1}},
  };
  for (const WrongMessages& program : wrong) EXPECT_THROW(parse_for(program.words, 0), Error) << program.what;
  const Words right = {0, 0, 2, 2, 0, 1, 2, 1, 0, 0, 2, 0, 1, 1, 0, 1, 1, 0};
  EXPECT_NO_THROW(parse_for(right, 1));
  EXPECT_THROW(parse_for(right, 2), Error);
  EXPECT_THROW(parse_for(right, -1), Error);
}

TEST(MessageProgram, RefusesOrAcceptsRandomWordsButNeverCrashes) {
  std::mt19937 random(2);
  std::uniform_int_distribution<int> small(-1, 5);
  for (int round = 0; round < 20000; ++round) {
    Words words(random() % 60);
    for (std::int32_t& word : words) word = round % 8 == 0 ? static_cast<std::int32_t>(random()) : small(random);
    try {
      parse_for(words, 0);
    } catch (const Error&) {
    }
  }
}

// A changed program is refused, or all ranks execute it to its end within their memory: the address
// sanitizer checks this.
TEST(MessageProgram, CanBeExecutedIfItIsAccepted) {
  std::mt19937 random(3);
  int executed = 0;
  for (int round = 0; round < 3000; ++round) {
    const Kind kind = static_cast<Kind>(random() % kKindCount);
    const int ranks = 1 + static_cast<int>(random() % 4);
    const Schedule schedule = random_schedule(kind, moves(kind) ? Op::kSum : static_cast<Op>(random() % kOpCount),
                                              static_cast<DType>(random() % (kDTypeCount - 1)), ranks, 0, chunks_of(kind, ranks), random);
    Words words = message_words(schedule);
    for (auto change = random() % 3; change > 0; --change) words[6 + random() % (words.size() - 6)] = static_cast<int>(random() % 6) - 1;
    if (random() % 8 == 0) words.resize(random() % words.size());
    std::vector<std::shared_ptr<MessageProgram>> parts;
    try {
      for (int rank = 0; rank < ranks; ++rank) parts.push_back(std::make_shared<MessageProgram>(parse_for(words, rank)));
    } catch (const Error&) {
      continue;
    }
    const std::size_t length = static_cast<std::size_t>(ranks * ranks) * (random() % 50);
    Case data(schedule, length, {0}, random() % 2 == 0, random);
    MessageGroup group(ranks, Transport::kSocketPair);
    for (int rank = 0; rank < ranks; ++rank) data.offers[static_cast<std::size_t>(rank)].messages = parts[static_cast<std::size_t>(rank)];
    group.run([&](int rank, MessageExecutor& executor) {
      EXPECT_EQ(execute_to_end(executor, data.offers[static_cast<std::size_t>(rank)]), Status::kDone) << round;
    });
    ++executed;
    if (HasFailure()) return;
  }
  EXPECT_GT(executed, 500);
}

}  // namespace
}  // namespace coll::test

#endif

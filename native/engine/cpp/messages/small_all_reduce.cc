#include "small_all_reduce.h"

#include <numeric>
#include <utility>

#include "../tuning.h"

namespace coll {
namespace {

// Value 0 is this rank's contribution. Those of the other ranks follow in rank order, each made by
// the step before it.
std::size_t value_of(int contributor, int rank) {
  if (contributor == rank) return 0;
  return static_cast<std::size_t>(contributor < rank ? contributor + 1 : contributor);
}

// The program in which this rank receives each contribution through the rank
// `through[contributor]`.
MessageProgram contributions(DType dtype, int rank, const std::vector<int>& through) {
  MessageProgram program{};
  static_cast<Request&>(program) = {Kind::kAllReduce, Op::kSum, dtype, static_cast<int>(through.size()), 0, 1};
  program.rank = rank;
  program.most_operands = 1;
  program.values.push_back({0, Form::kContribution, Where::kInput, 0});
  for (int other = 0; other < program.ranks; ++other) {
    if (other == rank) continue;
    const std::size_t step = program.steps.size();
    program.work_buffers.push_back({0, Form::kContribution});
    program.values.push_back({0, Form::kContribution, Where::kWork, step});
    program.operands.push_back({through[static_cast<std::size_t>(other)], Form::kContribution});
    program.steps.push_back({step + 1, 0, {step, 1}, {}, {}});
  }
  return program;
}

MessageProgram exchange_with_all(DType dtype, int rank, int ranks) {
  std::vector<int> through(static_cast<std::size_t>(ranks));
  std::iota(through.begin(), through.end(), 0);
  MessageProgram program = contributions(dtype, rank, through);
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) program.peers.push_back({peer, {0}, {value_of(peer, rank) - 1}});
  }
  return program;
}

// If a partner is at the same collective, so are all ranks whose contributions the partner sends.
MessageProgram recursive_doubling(DType dtype, int rank, int ranks) {
  std::vector<int> through(static_cast<std::size_t>(ranks));
  std::vector<Peer> peers;
  for (int distance = 1; distance < ranks; distance *= 2) {
    Peer peer{rank ^ distance, {}, {}, true};
    for (int member = 0; member < distance; ++member) {
      const int near = (rank & -distance) + member;
      const int far = near ^ distance;
      through[static_cast<std::size_t>(far)] = peer.rank;
      peer.sent.push_back(value_of(near, rank));
      peer.received.push_back(value_of(far, rank) - 1);
    }
    peers.push_back(std::move(peer));
  }
  MessageProgram program = contributions(dtype, rank, through);
  program.peers = std::move(peers);
  return program;
}

}  // namespace

bool SmallAllReduce::suits(const Offer& offer) const {
  if (offer.program == nullptr) return false;
  const Program& program = *offer.program;
  if (program.kind != Kind::kAllReduce || ranks_ == 1 || ranks_ > tuning::kMostRanksOfSmall || offer.length == 0) return false;
  const std::size_t most = is_doubling_ ? tuning::kMostDoubledBytes : tuning::kMostReceivedBytes / (static_cast<std::size_t>(ranks_) - 1);
  return offer.length <= most / byte_size(program.dtype);
}

std::shared_ptr<const MessageProgram> SmallAllReduce::program_for(const Offer& offer) {
  const DType dtype = offer.program->dtype;
  std::shared_ptr<const MessageProgram>& program = programs_[static_cast<int>(dtype)];
  if (!program) {
    program = std::make_shared<const MessageProgram>(is_doubling_ ? recursive_doubling(dtype, rank_, ranks_) : exchange_with_all(dtype, rank_, ranks_));
  }
  return program;
}

void SmallAllReduce::finish(const Offer& offer, const Values& values) {
  const std::size_t pieces = offer.piece_count();
  const std::size_t size = byte_size(offer.program->dtype);
  inputs_.resize(static_cast<std::size_t>(ranks_) * pieces);
  buffers_.ranks.resize(static_cast<std::size_t>(ranks_));
  std::size_t value = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    RankBuffers& buffers = buffers_.ranks[static_cast<std::size_t>(rank)];
    if (rank == rank_) {
      buffers = {offer.buffers.inputs.data(), offer.buffers.outputs.data()};
      continue;
    }
    const std::byte* const whole = values.range_at(++value, 0).at;
    const std::byte** const inputs = inputs_.data() + static_cast<std::size_t>(rank) * pieces;
    for (std::size_t piece = 0; piece < pieces; ++piece) inputs[piece] = whole + offer.begins[piece] * size;
    buffers = {inputs, nullptr};
  }
  buffers_.begins = offer.begins.data();
  buffers_.piece_count = pieces;
  scratch_.fit(*offer.program);
  execute(*offer.program, buffers_, 0, offer.length, scratch_);
}

}  // namespace coll

#include "gathering.h"

namespace coll {
namespace {

// Among more ranks the messages take longer than the rounds of a tree.
constexpr int kMostRanks = 16;
// What a rank receives.
constexpr std::size_t kMostBytes = 32 * 1024;

MessageProgram gathering_of(DType dtype, int rank, int ranks) {
  MessageProgram program{};
  static_cast<Request&>(program) = {Kind::kAllReduce, Op::kSum, dtype, ranks, 0, 1};
  program.rank = rank;
  program.most_operands = 1;
  program.values.push_back({0, Form::kContribution, Where::kInput, 0});
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    const std::size_t step = program.steps.size();
    program.slots.push_back({0, Form::kContribution});
    program.values.push_back({0, Form::kContribution, Where::kWork, step});
    program.operands.push_back({peer, Form::kContribution});
    program.steps.push_back({step + 1, 0, {step, 1}, {}, {}});
    program.peers.push_back({peer, {0}, {step}});
  }
  return program;
}

}  // namespace

bool Gathering::suits(const Offer& offer) {
  if (offer.program == nullptr) return false;
  const Program& program = *offer.program;
  const std::size_t others = static_cast<std::size_t>(program.ranks) - 1;
  return program.kind == Kind::kAllReduce && program.ranks > 1 && program.ranks <= kMostRanks && offer.length > 0 &&
         offer.length <= kMostBytes / others / byte_size(program.dtype);
}

std::shared_ptr<const MessageProgram> Gathering::program_for(const Offer& offer) {
  const DType dtype = offer.program->dtype;
  std::shared_ptr<const MessageProgram>& program = programs_[static_cast<int>(dtype)];
  if (!program) program = std::make_shared<const MessageProgram>(gathering_of(dtype, rank_, ranks_));
  return program;
}

void Gathering::finish(const Offer& offer, const Values& values) {
  const std::size_t pieces = offer.piece_count();
  const std::size_t size = byte_size(offer.program->dtype);
  inputs_.resize(static_cast<std::size_t>(ranks_) * pieces);
  places_.ranks.resize(static_cast<std::size_t>(ranks_));
  std::size_t value = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    Place& place = places_.ranks[static_cast<std::size_t>(rank)];
    if (rank == rank_) {
      place = {offer.buffers.inputs.data(), offer.buffers.outputs.data()};
      continue;
    }
    const std::byte* const whole = values.stretch(++value, 0).at;
    const std::byte** const inputs = inputs_.data() + static_cast<std::size_t>(rank) * pieces;
    for (std::size_t piece = 0; piece < pieces; ++piece) inputs[piece] = whole + offer.begins[piece] * size;
    place = {inputs, nullptr};
  }
  places_.begins = offer.begins.data();
  places_.piece_count = pieces;
  scratch_.fit(*offer.program);
  play(*offer.program, places_, 0, offer.length, scratch_);
}

}  // namespace coll

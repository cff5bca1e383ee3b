#include "shared_executor.h"

#if defined(__linux__)

#include <algorithm>
#include <cstring>

#include "../error.h"
#include "../kernels/fold.h"
#include "../tuning.h"

namespace coll {
namespace {

std::vector<SharedRankState*> states_in(const SharedMemory& memory) {
  std::vector<SharedRankState*> states;
  for (int rank = 0; rank < memory.size(); ++rank) states.push_back(reinterpret_cast<SharedRankState*>(memory.state(rank)));
  return states;
}

Words words_in(const std::vector<SharedRankState*>& states, int parity) {
  Words words;
  for (SharedRankState* const state : states) words.push_back(&state->announcements[parity].phase);
  return words;
}

Cores cores_in(const std::vector<SharedRankState*>& states) {
  Cores cores;
  for (SharedRankState* const state : states) cores.push_back(&state->core);
  return cores;
}

}  // namespace

SharedExecutor::SharedExecutor(std::shared_ptr<SharedMemory> memory, int rank, int size, const LocalRank& local, const FailureWord& failure,
                               const Thresholds& thresholds)
    : memory_(std::move(memory)), states_(states_in(*memory_)), rank_(rank), ranks_(size),
      words_{words_in(states_, 0), words_in(states_, 1)}, thresholds_(thresholds),
      waiter_(rank, cores_in(states_), {state(0).openings, state(0).sleepers}, local, failure, Reach::kHost),
      memories_(static_cast<std::size_t>(size)), small_inputs_(static_cast<std::size_t>(size)), slots_(*memory_, rank, thresholds, scratch_) {
  if (memory_->size() != size) throw Error("shared memory of " + std::to_string(memory_->size()) + " ranks cannot serve a group of " + std::to_string(size));
  buffers_.ranks.resize(static_cast<std::size_t>(size));
  buffers_.streamed_bytes = thresholds.streamed_bytes;
}

Status SharedExecutor::execute(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice) {
  if (!is_under_way_) {
    if (waiter_.has_failed()) return Status::kFailed;
    begin(offer);
  } else if (step_ > 0) {
    take_up_own_memory(offer);
  }
  Pause pause{time_slice, std::nullopt};
  for (;;) {
    if (!is_at_work_) {
      if (!await_all(patience)) return waiter_.has_failed() ? Status::kFailed : Status::kWaiting;
      if (step_ == 0 && !take_part(offer)) {
        ++phase_;
        is_under_way_ = false;
        return Status::kDisagreed;
      }
      ++phase_;
      ++step_;
    }
    if (may_pause()) pause.await_from_now();
    is_at_work_ = !is_helped_ && !work(offer, pause);
    if (is_at_work_) return Status::kSlice;
    if (step_ == last_step_) break;
    if (is_helped_) continue;
    publish();
    if (protocol_ == Protocol::kDirect) help(offer, pause);
    else if (may_pause() && pause.is_due()) return Status::kSlice;
  }
  is_under_way_ = false;
  return Status::kDone;
}

// Withdraws this rank's announcement. A rank that arrives later waits until it learns that the
// group has failed.
void SharedExecutor::abandon() {
  if (is_under_way_) announcement(rank_).phase.store(phase_ - 2, std::memory_order_release);
  is_under_way_ = false;
  is_at_work_ = false;
}

void SharedExecutor::begin(const Offer& offer) {
  scratch_.fit(*offer.program);
  is_under_way_ = true;
  is_small_ = is_small(offer, thresholds_);
  is_helped_ = false;
  step_ = 0;
  private_memory_ = 0;
  if (!is_small_) {
    const auto is_in_place = [&](const auto& pieces, std::size_t bytes) { return pieces.size() <= kMostPieces && memory_->has(pieces, offer, bytes); };
    if (!is_in_place(offer.buffers.inputs, offer.input_bytes())) private_memory_ |= kPrivateInput;
    if (!is_in_place(offer.buffers.outputs, offer.output_bytes())) private_memory_ |= kPrivateOutput;
    if (private_memory_ != 0) blocks_.emplace(offer, thresholds_);
    if ((private_memory_ & kPrivateInput) != 0) slots_.fill(offer, *blocks_, 0, phase_);
    state(rank_).open_slice.store(open_slice_of(phase_), std::memory_order_relaxed);
  }
  announce(offer);
  publish();
  waiter_.publish_core();
}

void SharedExecutor::announce(const Offer& offer) {
  SharedAnnouncement& own = announcement(rank_);
  own.fingerprint = offer.fingerprint;
  own.private_memory = private_memory_;
  const Buffers& buffers = offer.buffers;
  if (is_small_) {
    if (!buffers.inputs.empty()) copy(own.payload(offer.input_bytes()), buffers.inputs[0], offer.input_bytes());
    return;
  }
  const std::size_t pieces = offer.piece_count();
  if ((private_memory_ & kPrivateInput) == 0) {
    for (std::size_t i = 0; i < buffers.inputs.size(); ++i) own.input_offsets(pieces)[i] = memory_->offset_of(buffers.inputs[i]);
  }
  if ((private_memory_ & kPrivateOutput) == 0) {
    for (std::size_t i = 0; i < buffers.outputs.size(); ++i) own.output_offsets(pieces)[i] = memory_->offset_of(buffers.outputs[i]);
  }
}

void SharedExecutor::publish() {
  // No rank takes units of the next phase yet, nor any more of the previous one.
  state(rank_).taken[(phase_ + 1) & 1].store(0, std::memory_order_relaxed);
  waiter_.publish(words(), rank_, phase_);
}

bool SharedExecutor::await_all(std::chrono::microseconds patience) {
  const Patience blocking = waiter_.blocking(tuning::kProcessSleepMillis);
  const Patience once = patience < tuning::kShortPatience ? Patience{blocking.spins, 1, 0} : blocking;
  std::optional<Clock::time_point> end;
  while (!waiter_.await_all(words(), phase_, once)) {
    if (waiter_.has_failed()) return false;
    const Clock::time_point now = Clock::now();
    if (!end) end = now + patience;
    if (now >= *end) return false;
  }
  return true;
}

// Returns false if ranks disagree. They agree if another rank has claimed this rank's slice.
bool SharedExecutor::take_part(const Offer& offer) {
  is_helped_ = !is_small_ && !claim_slice(rank_);
  if (is_helped_) last_step_ = 2;
  return is_helped_ || (all_agree(offer) && take_up(offer));
}

bool SharedExecutor::all_agree(const Offer& offer) const {
  const auto agrees = [&](const SharedRankState* state) { return state->announcements[phase_ & 1].fingerprint == offer.fingerprint; };
  return std::all_of(states_.begin(), states_.end(), agrees);
}

// Finds each rank's memory, and with that the number of phases. Returns false if announced memory is
// not in the arena of its rank.
bool SharedExecutor::take_up(const Offer& offer) {
  last_step_ = 1;
  protocol_ = Protocol::kEager;
  if (is_small_) return true;
  bool is_any_private = false;
  bool is_any_in_arena = false;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!take_up_memory(offer, rank)) return false;
    const RankMemory& memory = memory_of(rank);
    is_any_private = is_any_private || memory.has_private_input || memory.has_private_output;
    const bool is_input_in_arena = offer.program->reads(rank) && !memory.has_private_input;
    const bool is_output_in_arena = offer.program->writes(rank) && !memory.has_private_output;
    is_any_in_arena = is_any_in_arena || is_input_in_arena || is_output_in_arena;
  }
  if (!is_any_private) {
    protocol_ = Protocol::kDirect;
    slices_.emplace(offer, kOneBatch);
    helped_.clear();
    if (slices_->has_units()) claim_slices_here([this](int rank) { helped_.push_back(rank); });
  } else {
    protocol_ = Protocol::kPipelined;
    if (private_memory_ == 0) blocks_.emplace(offer, thresholds_);
    slots_.begin(offer, *blocks_, memories_);
    last_step_ = blocks_->count() - 1 + slots_.phases_of_block();
  }
  if (is_any_in_arena) ++last_step_;
  return true;
}

bool SharedExecutor::take_up_memory(const Offer& offer, int rank) {
  RankMemory& memory = memory_of(rank);
  SharedAnnouncement& other = announcement(rank);
  const std::uint32_t bits = other.private_memory;
  memory.has_private_input = (bits & kPrivateInput) != 0;
  memory.has_private_output = (bits & kPrivateOutput) != 0;
  memory.inputs.clear();
  memory.outputs.clear();
  if (rank == rank_) {
    take_up_own_memory(offer);
    return true;
  }
  const std::size_t pieces = offer.piece_count();
  bool is_there = true;
  const auto take = [&](auto& into, const std::uint64_t* offsets, std::size_t bytes) {
    is_there = is_there && pieces <= kMostPieces;
    for (std::size_t i = 0; i < pieces && is_there; ++i) {
      into.push_back(memory_->at(rank, offsets[i], offer.bytes_of_piece(i, bytes)));
      is_there = into.back() != nullptr;
    }
  };
  if (offer.program->reads(rank) && !memory.has_private_input) take(memory.inputs, other.input_offsets(pieces), offer.input_bytes());
  if (offer.program->writes(rank) && !memory.has_private_output) take(memory.outputs, other.output_offsets(pieces), offer.output_bytes());
  return is_there;
}

// Finds this rank's memory again, which may have moved in the middle of a collective.
void SharedExecutor::take_up_own_memory(const Offer& offer) {
  memory_of(rank_).inputs = offer.buffers.inputs;
  memory_of(rank_).outputs = offer.buffers.outputs;
}

// Returns false if the collective is not complete yet.
bool SharedExecutor::work(Offer& offer, const Pause& pause) {
  if (protocol_ == Protocol::kDirect) return execute_direct(offer, pause);
  if (protocol_ == Protocol::kEager) execute_small(offer);
  else execute_slots(offer);
  return true;
}

// Small inputs are read from the announcements of the previous phase, which are still there.
void SharedExecutor::execute_small(const Offer& offer) {
  const std::size_t bytes = offer.input_bytes();
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    small_inputs_[index] = state(rank).announcements[(phase_ - 1) & 1].payload(bytes);
    if (rank != rank_) fetch_payload(small_inputs_[index], bytes);
    buffers_.ranks[index] = {&small_inputs_[index], rank == rank_ && offer.program->writes(rank) ? offer.buffers.outputs.data() : nullptr};
  }
  buffers_.begins = offer.begins.data();
  buffers_.piece_count = 1;
  coll::execute(*offer.program, buffers_, 0, offer.length, scratch_);
  // The memory of this rank's next announcement.
  SharedAnnouncement& next = announcement(rank_);
  claim(&next);
  const std::byte* const payload = next.payload(bytes);
  for (std::size_t at = 0; at < bytes; at += kCacheLine) claim(payload + at);
  if (bytes > 0) claim(payload + bytes - 1);
}

bool SharedExecutor::execute_direct(Offer& offer, const Pause& pause) {
  if (step_ > 1) return true;
  for (int rank = 0; rank < ranks_; ++rank) {
    const RankMemory& memory = memory_of(rank);
    buffers_.ranks[static_cast<std::size_t>(rank)] = {memory.inputs.data(), memory.outputs.data()};
  }
  buffers_.begins = offer.begins.data();
  buffers_.piece_count = offer.piece_count();
  const std::byte* const begin = slices_->exceed_cache() ? offer.input_at(slices_->slice(0, rank_).begin) : nullptr;
  offer.direction.choose(begin);
  const bool is_done = execute_slice(offer, rank_, pause);
  offer.direction.leave(begin);
  return is_done;
}

bool SharedExecutor::execute_slice(const Offer& offer, int rank, const Pause& pause) {
  const auto taken = [this](int owner) -> auto& { return state(owner).taken[phase_ & 1]; };
  const auto visit = [&](const Range& range) { coll::execute(*offer.program, buffers_, range.begin, range.end, scratch_); };
  return slices_->for_each_range(0, rank, offer.direction.is_from_end(), taken, visit, [&] { return !pause.is_due(); });
}

// Claims a rank's slice in the phase in which it was announced, the first of the collective.
bool SharedExecutor::claim_slice(int rank) {
  std::atomic<std::uint64_t>& slice = state(rank).open_slice;
  std::uint64_t open = open_slice_of(phase_ - static_cast<std::uint32_t>(step_));
  return slice.load(std::memory_order_relaxed) == open && slice.compare_exchange_strong(open, 0, std::memory_order_acq_rel);
}

// Claims slices of ranks that wait for this core: they would only run to execute their slices, and
// then wait again.
template <class Claimed>
void SharedExecutor::claim_slices_here(Claimed claimed) {
  const int core = waiter_.shared_core();
  for (int rank = 0; core != 0 && rank < ranks_; ++rank) {
    if (rank != rank_ && state(rank).core.load(std::memory_order_relaxed) == core && claim_slice(rank)) claimed(rank);
  }
}

void SharedExecutor::help(const Offer& offer, const Pause& pause) {
  for (const int rank : helped_) publish_for(rank);
  if (slices_->has_units()) return;
  claim_slices_here([&](int rank) {
    execute_slice(offer, rank, pause);
    publish_for(rank);
  });
}

void SharedExecutor::execute_slots(const Offer& offer) {
  const std::size_t blocks = blocks_->count();
  if (slots_.phases_of_block() == 2 && step_ >= 2 && step_ <= blocks + 1) slots_.collect(step_ - 2, phase_);
  if (step_ < blocks && (private_memory_ & kPrivateInput) != 0) slots_.fill(offer, *blocks_, step_, phase_);
  if (step_ <= blocks) slots_.execute(step_ - 1, phase_);
}

}  // namespace coll

#endif

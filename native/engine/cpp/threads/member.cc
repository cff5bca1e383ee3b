#include "member.h"

#include <algorithm>
#include <utility>

namespace coll {
bool is_small(const Offer& offer, const Thresholds& thresholds) {
  const std::size_t bytes = offer.input_bytes();
  const std::size_t ranks = static_cast<std::size_t>(offer.program->ranks);
  const bool fits = bytes * ranks <= thresholds.small_bytes_of_all() && bytes <= thresholds.small_bytes;
  return (fits || bytes <= tuning::kAlwaysSmallBytes) && offer.piece_count() == 1 && !offer.shares_result;
}

namespace {

Cores cores_in(Board& board, int ranks) {
  Cores cores;
  for (int rank = 0; rank < ranks; ++rank) cores.push_back(&board.states()[rank].core);
  return cores;
}

}  // namespace

Member::Member(Board& board, Control control, int rank, int ranks, int most_cores, const Thresholds& thresholds)
    : board_(board), control_(control), rank_(rank), ranks_(ranks), thresholds_(thresholds),
      waiter_(rank, cores_in(board, ranks), {board.openings, board.sleepers}, {rank, ranks, most_cores}, *control.failure, Reach::kProcess),
      small_inputs_(static_cast<std::size_t>(ranks)) {
  buffers_.ranks.resize(static_cast<std::size_t>(ranks));
  buffers_.streamed_bytes = thresholds.streamed_bytes;
  for (int other = 0; other < ranks; ++other) {
    for (int parity = 0; parity < 2; ++parity) announced_[parity].push_back(&state(other).announcements[parity].meeting);
    done_.push_back(&state(other).done);
  }
}

bool Member::may_execute(const Offer& offer) const {
  if (is_under_way_) return offer.id == offer_id_;
  return (offer.executor == nullptr || offer.executor == this) && offer.rank == rank_ && offer.program->ranks == ranks_;
}

Status Member::execute(Offer& offer, Wait wait) {
  if (!is_under_way_) {
    if (waiter_.has_failed()) return Status::kFailed;
    scratch_.fit(*offer.program);
    batch_ = 0;
    is_under_way_ = true;
    offer_id_ = offer.id;
    // Writes only a changed value, because other ranks may be reading the offer.
    if (offer.executor != this) offer.executor = this;
    begin();
  }
  const Status status = is_small(offer, thresholds_) ? execute_small(offer, wait) : execute_batches(offer, wait);
  is_under_way_ = status == Status::kWaiting || status == Status::kNotify || status == Status::kSlice;
  return status;
}

Status Member::execute_batches(Offer& offer, Wait wait) {
  const WorkSlices slices(offer);
  for (;;) {
    const Status status = execute_batch(offer, slices, wait);
    if (status != Status::kDone || ++batch_ == slices.batches()) return status;
    begin();
    if (wait != Wait::kBlocking) return Status::kSlice;
  }
}

bool Member::is_missing(int rank) const {
  return board_.states()[rank].announcements[meeting_ & 1].meeting.load(std::memory_order_acquire) != meeting_;
}

void Member::begin() {
  ++meeting_;
  has_arrived_ = false;
  is_written_ = false;
  is_announced_ = false;
}

// Publishes the arrival of this rank. Returns false if event loops wait for it, which JavaScript
// must wake.
bool Member::arrive() {
  if (has_arrived_) return true;
  has_arrived_ = true;
  control_.arrived->store(static_cast<std::int32_t>(meeting_), std::memory_order_seq_cst);
  return control_.sleepers->load(std::memory_order_seq_cst) == 0;
}

void Member::announce(const Offer& offer) {
  is_announced_ = true;
  if (!is_written_) write(announcement(rank_), offer);
  waiter_.publish(announced(), rank_, meeting_);
  waiter_.publish_core();
}

// Must be called once per meeting: after this rank has left and come back, other ranks may still be
// reading the first announcement.
void Member::write(Announcement& own, const Offer& offer) {
  is_written_ = true;
  // All ranks that took units in the previous meeting are done.
  state(rank_).taken.store(0, std::memory_order_relaxed);
  own.offer_id = static_cast<std::uint32_t>(offer.id);
  own.fingerprint = offer.fingerprint;
  const std::byte* const input = offer.buffers.inputs.empty() ? nullptr : offer.buffers.inputs[0];
  std::uint64_t& announced_id = announced_ids_[meeting_ & 1];
  if (announced_id != offer.id) {
    announced_id = offer.id;
    own.offer = &offer;
    own.input = input;
    own.output = offer.buffers.outputs.empty() ? nullptr : offer.buffers.outputs[0];
  }
  if (is_small(offer, thresholds_) && input != nullptr) std::memcpy(own.payload(offer.input_bytes()), input, offer.input_bytes());
}

// Small inputs are read from the announcements, so this meeting needs no second half.
Status Member::execute_small(Offer& offer, Wait wait) {
  if (!is_announced_) {
    // A rank that fails the group because of these announcements has seen all ranks arrive. So
    // ranks that wait for arrivals know that the failure belongs to this meeting.
    control_.arrived->store(static_cast<std::int32_t>(meeting_), std::memory_order_release);
    announce(offer);
  }
  if (!arrive()) return Status::kNotify;
  if (!waiter_.await_all(announced(), meeting_, patience(wait))) {
    if (!waiter_.has_failed()) return Status::kWaiting;
    // If the group failed because of the offers of this meeting, all ranks have announced, and the
    // checks below find the reason.
    if (!others_have_announced()) return Status::kFailed;
  }
  fetch_inputs(offer.input_bytes());
  if (!all_agree(offer)) return Status::kDisagreed;
  if (!is_sound(offer)) verify_small(offer);
  if (clash_) return Status::kClashed;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::size_t index = static_cast<std::size_t>(rank);
    small_inputs_[index] = announcement(rank).payload(offer.input_bytes());
    buffers_.ranks[index] = {&small_inputs_[index], rank == rank_ ? offer.buffers.outputs.data() : nullptr};
  }
  buffers_.begins = offer.begins.data();
  buffers_.piece_count = 1;
  coll::execute(*offer.program, buffers_, 0, offer.length, scratch_);
  claim_next(offer.input_bytes());
  return Status::kDone;
}

void Member::fetch_inputs(std::size_t bytes) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) fetch_payload(announcement(rank).payload(bytes), bytes);
  }
}

// Claims the cache lines of this rank's next announcement before it is written. All ranks have read
// the previous announcement in that memory, and the next input probably has the same size.
void Member::claim_next(std::size_t payload_bytes) {
  payload_bytes_[meeting_ & 1] = payload_bytes;
  const std::size_t likely = payload_bytes_[(meeting_ + 1) & 1];
  Announcement& next = state(rank_).announcements[(meeting_ + 1) & 1];
  claim(&next);
  const std::byte* const payload = next.payload(likely);
  for (std::size_t at = 0; at < likely; at += kCacheLine) claim(payload + at);
  if (likely > 0) claim(payload + likely - 1);
}

Status Member::execute_batch(Offer& offer, const WorkSlices& slices, Wait wait) {
  if (!arrive()) return Status::kNotify;
  if (!is_announced_) announce(offer);
  do {
    while (!waiter_.await_all(announced(), meeting_, patience(wait))) {
      if (!try_leave()) continue;
      if (!waiter_.has_failed()) return Status::kWaiting;
      // Other ranks may have read this rank's earlier announcement and found that it disagrees with
      // theirs.
      return others_have_announced() && !all_agree(offer) ? Status::kDisagreed : Status::kFailed;
    }
    // If the offers disagree, no rank reads more than their fingerprints.
    if (!all_agree(offer)) return Status::kDisagreed;
  } while (!start());
  claim(&state(rank_).done);
  if (!is_sound(offer)) verify_offers(offer);
  for (int rank = 0; rank < ranks_; ++rank) {
    const Buffers& buffers = offer.others[static_cast<std::size_t>(rank)]->buffers;
    buffers_.ranks[static_cast<std::size_t>(rank)] = {buffers.inputs.data(), offer.is_shared && rank > 0 ? nullptr : buffers.outputs.data()};
  }
  buffers_.begins = offer.begins.data();
  buffers_.piece_count = offer.piece_count();
  if (!clash_) execute_slices(offer, slices);
  waiter_.publish(done_, rank_, meeting_);
  claim_next(0);
  await_all_done();
  return clash_ ? Status::kClashed : Status::kDone;
}

void Member::execute_slices(Offer& offer, const WorkSlices& slices) {
  const Range own = slices.slice(batch_, rank_);
  claim_outputs(offer, own);
  const auto taken = [this](int rank) -> std::atomic<std::size_t>& { return state(rank).taken; };
  const std::byte* const begin = slices.exceed_cache() ? offer.input_at(own.begin) : nullptr;
  offer.direction.choose(begin);
  slices.for_each_range(batch_, rank_, offer.direction.is_from_end(), taken, [&](const Range& range) {
    coll::execute(*offer.program, buffers_, range.begin, range.end, scratch_);
  });
  offer.direction.leave(begin);
}

// Claims the cache lines of other ranks' outputs. If such an output is also an input, its lines
// then come from the cache of its rank only once, instead of once for reading and once for writing.
void Member::claim_outputs(const Offer& offer, const Range& range) {
  const Program& program = *offer.program;
  const std::size_t size = byte_size(result_of(program.dtype, program.op));
  const std::size_t bytes = (range.end - range.begin) * size;
  if (bytes * static_cast<std::size_t>(ranks_ - 1) > tuning::kClaimedBytes || program.has_blocks() || offer.piece_count() > 1) return;
  for (int rank = 0; rank < ranks_; ++rank) {
    std::byte* const* const outputs = buffers_.ranks[static_cast<std::size_t>(rank)].outputs;
    if (rank == rank_ || outputs == nullptr || !program.writes(rank)) continue;
    const std::byte* const first = outputs[0] + range.begin * size;
    for (std::size_t at = 0; at < bytes; at += kCacheLine) claim(first + at);
  }
}

// All ranks are inside this call by now and finish it, even if the group fails.
void Member::await_all_done() {
  while (!waiter_.await_all(done_, meeting_, waiter_.blocking(tuning::kThreadSleepMillis))) yield();
}

// Withdraws the announcement, unless the meeting has begun. Returns whether it was withdrawn.
bool Member::try_leave() {
  board_.leaving.fetch_add(1, std::memory_order_seq_cst);
  bool has_begun = false;
  for (int rank = 0; rank < ranks_; ++rank) has_begun = has_begun || state(rank).started.load(std::memory_order_seq_cst) == meeting_;
  if (!has_begun) {
    announcement(rank_).meeting.store(meeting_ - 2, std::memory_order_seq_cst);
    is_announced_ = false;
  }
  board_.leaving.fetch_sub(1, std::memory_order_seq_cst);
  return !has_begun;
}

// Starts the meeting, so that no rank leaves it any more. Returns false if a rank was just about to
// leave.
bool Member::start() {
  std::atomic<std::uint32_t>& started = state(rank_).started;
  started.store(meeting_, std::memory_order_seq_cst);
  if (board_.leaving.load(std::memory_order_seq_cst) == 0 && others_have_announced()) return true;
  started.store(meeting_ - 1, std::memory_order_seq_cst);
  spin_until(tuning::kLeavingSpins, [this] { return board_.leaving.load(std::memory_order_seq_cst) == 0; });
  return false;
}

bool Member::others_have_announced() {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_ && announcement(rank).meeting.load(std::memory_order_seq_cst) != meeting_) return false;
  }
  return true;
}

Patience Member::patience(Wait wait) const {
  if (wait == Wait::kBlocking) return waiter_.blocking(tuning::kThreadSleepMillis);
  return wait == Wait::kBrief ? waiter_.brief() : waiter_.patient();
}

bool Member::all_agree(const Offer& offer) {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (announcement(rank).fingerprint != offer.fingerprint) return false;
  }
  return true;
}

// Whether these offers were checked together before and have no clash. Programs repeat the same
// calls in turns.
bool Member::is_sound(const Offer& offer) const {
  if (offer.sound_with.empty()) return false;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (offer.sound_with[static_cast<std::size_t>(rank)] != announcement(rank).offer_id) return false;
  }
  return true;
}

void Member::verify(Offer& offer, const std::vector<const Offer*>& offers) {
  clash_ = find_clash(offers.data(), ranks_);
  offer.is_shared = is_one_result(offers.data(), ranks_);
  offer.sound_with.clear();
  if (clash_) return;
  for (int rank = 0; rank < ranks_; ++rank) offer.sound_with.push_back(announcement(rank).offer_id);
}

void Member::verify_offers(Offer& offer) {
  std::vector<const Offer*> offers;
  for (int rank = 0; rank < ranks_; ++rank) offers.push_back(announcement(rank).offer);
  verify(offer, offers);
  offer.others = std::move(offers);
}

// Offers of small collectives may be destroyed already, so this checks the addresses in their
// announcements.
void Member::verify_small(Offer& offer) {
  std::vector<Offer> copies(static_cast<std::size_t>(ranks_), offer);
  std::vector<const Offer*> offers;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Announcement& other = announcement(rank);
    Buffers& buffers = copies[static_cast<std::size_t>(rank)].buffers;
    buffers = {};
    if (other.input != nullptr) buffers.inputs = {other.input};
    if (other.output != nullptr) buffers.outputs = {other.output};
    offers.push_back(&copies[static_cast<std::size_t>(rank)]);
  }
  verify(offer, offers);
}

}  // namespace coll

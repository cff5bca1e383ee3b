#include "member.h"

#include <algorithm>

namespace coll {
namespace {

// A slice takes about a millisecond: so long an event loop may be kept waiting.
constexpr std::size_t kSliceBytes = std::size_t{32} << 20;

// Microseconds of looking, if all ranks can run at once. Whoever spins on a core that another one needs only delays it.
constexpr Patience kOwnCore{4000, 50, 25};
constexpr Patience kSharedCore{100, 50, 25};

Patience without_sleep(Patience patience, int looks, int yields) {
  return {std::min(patience.looks, looks), std::min(patience.yields, yields), 0};
}

// Whole cache lines, so that no two ranks write one.
std::size_t line_of(const Program& program) { return kLine / byte_size(result_of(program.dtype, program.op)); }

std::size_t slice_length(const Offer& offer) {
  const Program& program = *offer.program;
  const std::size_t line = line_of(program);
  const std::size_t size = byte_size(program.dtype) * static_cast<std::size_t>(program.ranks);
  return std::max(kSliceBytes / size / line * line, line);
}

bool is_small(const Offer& offer) {
  return offer.input_bytes() <= kSmallBytes && offer.piece_count() == 1 && !offer.is_shared;
}

}  // namespace

Member::Member(Board& board, Control control, int rank, int ranks, int most_cores)
    : board_(board), control_(control), rank_(rank), ranks_(ranks), sync_(ranks <= most_cores ? kOwnCore : kSharedCore),
      async_(without_sleep(sync_, 1000, 10)), verified_(static_cast<std::size_t>(ranks)),
      small_inputs_(static_cast<std::size_t>(ranks)) {
  places_.ranks.resize(static_cast<std::size_t>(ranks));
}

Status Member::play(const Offer& offer, bool may_block) {
  if (!is_under_way_) {
    if (has_failed()) return Status::kFailed;
    scratch_.fit(*offer.program);
    slice_ = 0;
    is_under_way_ = true;
    begin();
  }
  const bool small = is_small(offer);
  const std::size_t length = slice_length(offer);
  for (;;) {
    const Status status = small ? play_small(offer, may_block) : play_slice(offer, may_block);
    if (status == Status::kWaiting || status == Status::kNotify) return status;
    is_announced_ = false;
    if (status != Status::kDone) {
      is_under_way_ = false;
      return status;
    }
    ++slice_;
    if (slice_ * length >= offer.length) break;
    begin();
    if (!may_block) return Status::kSlice;
  }
  is_under_way_ = false;
  return Status::kDone;
}

bool Member::is_missing(int rank) const {
  return board_.seats()[rank].announcements[meeting_ & 1].meeting.load(std::memory_order_acquire) != meeting_;
}

void Member::begin() {
  ++meeting_;
  has_arrived_ = false;
  is_written_ = false;
  is_announced_ = false;
}

// Says that this rank has come; false where somebody has to be woken by JavaScript.
bool Member::arrive() {
  if (has_arrived_) return true;
  has_arrived_ = true;
  control_.arrived->store(static_cast<std::int32_t>(meeting_), std::memory_order_seq_cst);
  return control_.sleepers->load(std::memory_order_seq_cst) == 0;
}

void Member::publish(std::atomic<std::uint32_t>& word) {
  word.store(meeting_, std::memory_order_seq_cst);
  if (board_.parked.load(std::memory_order_seq_cst) != 0) unpark(word);
}

void Member::announce(const Offer& offer) {
  Announcement& own = announcement(rank_);
  is_announced_ = true;
  if (is_written_) {
    publish(own.meeting);
    return;
  }
  // Once only: after leaving and coming back, others may be reading what was said first.
  is_written_ = true;
  own.offer_id = static_cast<std::uint32_t>(offer.id);
  own.fingerprint = offer.fingerprint;
  own.offer = &offer;
  own.input = offer.buffers.inputs.empty() ? nullptr : offer.buffers.inputs[0];
  own.output = offer.buffers.outputs.empty() ? nullptr : offer.buffers.outputs[0];
  if (is_small(offer) && own.input != nullptr) std::memcpy(own.payload, own.input, offer.input_bytes());
  publish(own.meeting);
}

// Nobody reads a small input where it is, so that this meeting needs no second half.
Status Member::play_small(const Offer& offer, bool may_block) {
  if (!is_announced_) announce(offer);
  if (!arrive()) return Status::kNotify;
  if (!await_announcements(may_block ? sync_ : async_)) return has_failed() ? Status::kFailed : Status::kWaiting;
  if (!all_agree(offer)) return Status::kDisagreed;
  if (!is_verified()) {
    clash_ = clash_of_small(offer);
    if (clash_) return Status::kClashed;
  }
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::size_t index = static_cast<std::size_t>(rank);
    small_inputs_[index] = announcement(rank).payload;
    places_.ranks[index] = {&small_inputs_[index], rank == rank_ ? offer.buffers.outputs.data() : nullptr};
  }
  places_.begins = offer.begins.data();
  places_.piece_count = 1;
  coll::play(*offer.program, places_, 0, offer.length, {Targets::kOne, rank_}, scratch_);
  return Status::kDone;
}

Status Member::play_slice(const Offer& offer, bool may_block) {
  if (!arrive()) return Status::kNotify;
  if (!is_announced_) announce(offer);
  do {
    while (!await_announcements(may_block ? sync_ : async_)) {
      if (try_leave()) return has_failed() ? Status::kFailed : Status::kWaiting;
    }
    // Of offers that others have not understood alike nobody reads the rest.
    if (!all_agree(offer)) return Status::kDisagreed;
  } while (!start());
  for (int rank = 0; rank < ranks_; ++rank) {
    const Buffers& buffers = announcement(rank).offer->buffers;
    places_.ranks[static_cast<std::size_t>(rank)] = {buffers.inputs.data(), buffers.outputs.data()};
  }
  places_.begins = offer.begins.data();
  places_.piece_count = offer.piece_count();
  clash_ = is_verified() ? Clash{} : clash_of_offers();
  if (!clash_) {
    const Range share = share_of(offer);
    coll::play(*offer.program, places_, share.begin, share.end, {offer.is_shared ? Targets::kFirst : Targets::kAll}, scratch_);
  }
  publish(seat(rank_).done);
  await_all_done();
  return clash_ ? Status::kClashed : Status::kDone;
}

// False where somebody did not come in time, or the group has failed.
bool Member::await_announcements(const Patience& patience) {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_ && !await(announcement(rank).meeting, meeting_, patience)) return false;
  }
  return true;
}

bool Member::await(std::atomic<std::uint32_t>& word, std::uint32_t wanted, const Patience& patience) {
  for (int look = 0; look < patience.looks; ++look) {
    if (word.load(std::memory_order_acquire) == wanted) return true;
    if (has_failed()) break;
    pause();
  }
  for (int turn = 0; turn < patience.yields; ++turn) {
    if (word.load(std::memory_order_acquire) == wanted) return true;
    yield();
  }
  std::uint32_t seen = word.load(std::memory_order_acquire);
  if (seen == wanted || patience.sleep_millis == 0 || has_failed()) return seen == wanted;
  board_.parked.fetch_add(1, std::memory_order_seq_cst);
  seen = word.load(std::memory_order_seq_cst);
  if (seen != wanted) park(word, seen, patience.sleep_millis);
  board_.parked.fetch_sub(1, std::memory_order_seq_cst);
  return word.load(std::memory_order_acquire) == wanted;
}

// Everybody is inside this call by now and will be done, whatever becomes of the group.
void Member::await_all_done() {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    std::atomic<std::uint32_t>& done = seat(rank).done;
    for (int look = 0; look < sync_.looks && done.load(std::memory_order_acquire) != meeting_; ++look) pause();
    while (!await(done, meeting_, {0, sync_.yields, sync_.sleep_millis})) {
      if (has_failed()) yield();
    }
  }
}

// Takes the announcement back, unless the meeting has begun.
bool Member::try_leave() {
  board_.leaving.fetch_add(1, std::memory_order_seq_cst);
  bool has_begun = false;
  for (int rank = 0; rank < ranks_; ++rank) has_begun = has_begun || seat(rank).started.load(std::memory_order_seq_cst) == meeting_;
  if (!has_begun) {
    announcement(rank_).meeting.store(meeting_ - 2, std::memory_order_seq_cst);
    is_announced_ = false;
  }
  board_.leaving.fetch_sub(1, std::memory_order_seq_cst);
  return !has_begun;
}

// From here on nobody leaves; false where somebody was just about to.
bool Member::start() {
  std::atomic<std::uint32_t>& started = seat(rank_).started;
  started.store(meeting_, std::memory_order_seq_cst);
  if (board_.leaving.load(std::memory_order_seq_cst) == 0 && all_have_announced()) return true;
  started.store(meeting_ - 1, std::memory_order_seq_cst);
  while (board_.leaving.load(std::memory_order_seq_cst) != 0) pause();
  return false;
}

bool Member::all_have_announced() {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (announcement(rank).meeting.load(std::memory_order_seq_cst) != meeting_) return false;
  }
  return true;
}

bool Member::all_agree(const Offer& offer) {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (announcement(rank).fingerprint != offer.fingerprint) return false;
  }
  return true;
}

// Whether these offers are the ones that were looked at last; from now on they are.
bool Member::is_verified() {
  bool same = true;
  for (int rank = 0; rank < ranks_; ++rank) {
    std::uint32_t& known = verified_[static_cast<std::size_t>(rank)];
    same = same && known == announcement(rank).offer_id;
    known = announcement(rank).offer_id;
  }
  return same;
}

Clash Member::clash_of_offers() {
  std::vector<const Offer*> offers;
  for (int rank = 0; rank < ranks_; ++rank) offers.push_back(announcement(rank).offer);
  return find_clash(offers.data(), ranks_);
}

// Offers of small collectives may be gone already; where their memory is was announced.
Clash Member::clash_of_small(const Offer& offer) {
  std::vector<Offer> offers(static_cast<std::size_t>(ranks_), offer);
  std::vector<const Offer*> pointers;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Announcement& said = announcement(rank);
    Buffers& buffers = offers[static_cast<std::size_t>(rank)].buffers;
    buffers = {};
    if (said.input != nullptr) buffers.inputs = {said.input};
    if (said.output != nullptr) buffers.outputs = {said.output};
    pointers.push_back(&offers[static_cast<std::size_t>(rank)]);
  }
  return find_clash(pointers.data(), ranks_);
}

// The elements of this slice that this rank works off.
Member::Range Member::share_of(const Offer& offer) const {
  const std::size_t slice = slice_length(offer);
  const std::size_t begin = slice_ * slice;
  const std::size_t end = std::min(begin + slice, offer.length);
  const std::size_t line = line_of(*offer.program);
  const std::size_t lines = (end - begin + line - 1) / line;
  const std::size_t ranks = static_cast<std::size_t>(ranks_);
  const std::size_t share = (lines + ranks - 1) / ranks * line;
  const std::size_t first = std::min(begin + share * static_cast<std::size_t>(rank_), end);
  return {first, std::min(first + share, end)};
}

}  // namespace coll

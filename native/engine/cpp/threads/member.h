#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "board.h"
#include "offer.h"
#include "execute.h"
#include "work_slices.h"
#include "waiter.h"

namespace coll {

// What became of a call.
enum class Status : int {
  kDone,
  kWaiting,    // somebody is not there yet: look after the group, and call again
  kNotify,     // an event loop waits for this rank's arrival: wake it, and call again
  kSlice,      // a part is done: let others run, and call again
  kFailed,     // the group has failed
  kDisagreed,  // the ranks do not ask for the same
  kClashed,    // memory of two ranks overlaps
  kExpired,    // not everybody came in time
};

// How long a call may take to wait for others: as long as it likes, coming back now and then; as long as an event loop does
// not notice; or as long as it is only delayed, for those who wait longer.
enum class Wait : int { kBlocking, kBrief, kPatient };
constexpr int kWaitCount = 3;

// The words of a group that JavaScript knows as well.
struct Control {
  const std::atomic<std::int32_t>* failure;  // not 0: the group has failed
  std::atomic<std::int32_t>* arrived;        // this rank's latest meeting
  const std::atomic<std::int32_t>* sleepers;  // event loops that wait for that
};

// A rank of a group. The ranks meet for every collective, or for every batch of a large one:
//
//     announce -> all have announced -> start -> execute one's slice -> done -> all are done
//
// Memory of others is touched only between start and the last done, and a rank goes back to its caller only before it has
// started or after all are done: so whoever owns memory is inside this call as long as it is in use, and cannot free it.
//
// Until it starts, a rank may leave a meeting. It raises `leaving` and then looks whether somebody has started; who starts says so and
// then looks at `leaving`. Both are sequentially consistent, so that at least one of the two sees the other: either
// the one who leaves stays, because the meeting has begun, or the one who started takes that back and looks again who is there.
class Member {
 public:
  // `most_cores`: how many threads can run at once.
  Member(Board& board, Control control, int rank, int ranks, int most_cores);

  int ranks() const { return ranks_; }
  // Whether execute() takes this offer: one of this rank and, in the midst of a collective, the one that this began with.
  bool may_execute(const Offer& offer) const;
  // Goes on with a collective, or begins one. While the result is kWaiting, kNotify or kSlice, the same offer comes again.
  Status execute(Offer& offer, Wait wait);

  // Forgets the collective under way; the group has failed.
  void abandon() { is_under_way_ = false; }
  bool is_missing(int rank) const;
  Clash clash() const { return clash_; }
  std::uint32_t meeting() const { return meeting_; }

 private:
  RankState& state(int rank) const { return board_.states()[rank]; }
  Announcement& announcement(int rank) const { return state(rank).announcements[meeting_ & 1]; }
  auto core_of() const {
    return [this](int rank) -> const std::atomic<int>& { return state(rank).core; };
  }
  Presence presence(int rank) const { return {state(rank).core, board_.parked}; }

  void begin();
  bool arrive();
  void announce(const Offer& offer);
  void write(Announcement& own, const Offer& offer);
  Status execute_small(Offer& offer, Wait wait);
  void fetch_inputs(std::size_t bytes) const;
  void claim_next(std::size_t payload_bytes);
  Status execute_batches(Offer& offer, Wait wait);
  Status execute_batch(Offer& offer, const WorkSlices& slices, Wait wait);
  void execute_slices(Offer& offer, const WorkSlices& slices);
  void claim_outputs(const Offer& offer, const Range& range);
  bool await_announcements(const Patience& patience);
  void await_all_done();
  template <class WordOf>
  bool await_each(const Patience& patience, WordOf word_of);
  bool try_leave();
  bool start();
  bool others_have_announced();
  Patience patience(Wait wait) const;
  bool all_agree(const Offer& offer);
  bool is_sound(const Offer& offer) const;
  void verify(Offer& offer, const std::vector<const Offer*>& offers);
  void verify_offers(Offer& offer);
  void verify_small(Offer& offer);

  Board& board_;
  const Control control_;
  const int rank_;
  const int ranks_;
  Waiter waiter_;
  std::uint32_t meeting_ = 0;
  std::size_t batch_ = 0;
  bool is_under_way_ = false;
  std::uint64_t offer_id_ = 0;  // of the collective under way
  bool has_arrived_ = false;
  bool is_written_ = false;
  bool is_announced_ = false;
  // Of the inputs that came along with the latest announcements, by whose place they are in.
  std::size_t payload_bytes_[2] = {};
  // The offers that these places tell of.
  std::uint64_t announced_ids_[2] = {};
  Clash clash_;
  GroupBuffers buffers_;
  std::vector<const std::byte*> small_inputs_;
  Scratch scratch_;
};

}  // namespace coll

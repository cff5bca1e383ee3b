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

// The outcome of a call.
enum class Status : int {
  kDone,
  kWaiting,    // some ranks have not arrived: check the group, and call again
  kNotify,     // an event loop waits for this rank's arrival: wake it, and call again
  kSlice,      // a part of the work is done: let other tasks run, and call again
  kFailed,     // the group has failed
  kDisagreed,  // the ranks ask for different things
  kClashed,    // memory of two ranks overlaps
  kExpired,    // not all ranks arrived in time
};

// How long a call waits for other ranks. kBlocking: without limit, with returns now and then.
// kBrief: too short for an event loop to notice. kPatient: with a short sleep, used after brief
// waits were not enough.
enum class Wait : int { kBlocking, kBrief, kPatient };
constexpr int kWaitCount = 3;

// The words of a group that JavaScript accesses as well.
struct Control {
  const std::atomic<std::int32_t>* failure;  // not 0: the group has failed
  std::atomic<std::int32_t>* arrived;        // this rank's latest meeting
  const std::atomic<std::int32_t>* sleepers;  // event loops that wait for this rank's arrival
};

// Executes the collectives of one rank of a group of threads. For each collective, or for each
// batch of a large one, the ranks go through a meeting:
//
//     announce -> all have announced -> start -> execute own slice -> done -> all are done
//
// A rank accesses buffers of other ranks only between start and done, and it returns to its caller
// only before any rank has started or after all ranks are done. So the owner of a buffer is inside
// execute() while others use the buffer, and cannot free it. Small inputs are copied into the
// announcements: their meetings end when all ranks have announced.
//
// A rank may leave a meeting until one has started. The leaving rank raises `leaving`, then checks
// whether any rank has started. A starting rank sets `started`, then checks `leaving`. These
// operations are sequentially consistent, so that at least one of the two ranks sees the other:
// either the leaving rank stays, because the meeting has begun, or the starting rank withdraws its
// start and checks again which ranks have announced.
class Member {
 public:
  // `most_cores`: how many threads can run at once. `thresholds`: the same on all ranks.
  Member(Board& board, Control control, int rank, int ranks, int most_cores, const Thresholds& thresholds = {});

  int ranks() const { return ranks_; }
  // Whether execute() accepts this offer: it must be an offer of this rank and, in the middle of a
  // collective, the one with which that collective began.
  bool may_execute(const Offer& offer) const;
  // Begins or continues a collective. After kWaiting, kNotify and kSlice, call again with the same
  // offer.
  Status execute(Offer& offer, Wait wait);

  // Drops the collective under way, after the group has failed.
  void abandon() { is_under_way_ = false; }
  bool is_missing(int rank) const;
  Clash clash() const { return clash_; }
  std::uint32_t meeting() const { return meeting_; }

 private:
  RankState& state(int rank) const { return board_.states()[rank]; }
  Announcement& announcement(int rank) const { return state(rank).announcements[meeting_ & 1]; }
  const Words& announced() const { return announced_[meeting_ & 1]; }

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
  void await_all_done();
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
  Words announced_[2];  // by parity of the meeting
  Words done_;
  const Thresholds thresholds_;
  Waiter waiter_;
  std::uint32_t meeting_ = 0;
  std::size_t batch_ = 0;
  bool is_under_way_ = false;
  std::uint64_t offer_id_ = 0;  // of the collective under way
  bool has_arrived_ = false;
  bool is_written_ = false;
  bool is_announced_ = false;
  // Sizes of the inputs in this rank's two announcements.
  std::size_t payload_bytes_[2] = {};
  // Ids of the offers in this rank's two announcements.
  std::uint64_t announced_ids_[2] = {};
  Clash clash_;
  GroupBuffers buffers_;
  std::vector<const std::byte*> small_inputs_;
  Scratch scratch_;
};

}  // namespace coll

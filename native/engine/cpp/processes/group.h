#pragma once

#if defined(__linux__)

#include <memory>
#include <optional>
#include <vector>

#include "calls.h"
#include "executor.h"
#include "monitor.h"

namespace coll {

// A call of a rank: its offer, and the state that it reports to other ranks if they disagree.
struct Call {
  Offer offer;
  State state{};
};

// One member of a group of processes: its executor, and the monitor that watches the other members.
// Except for the monitor, used by one thread at a time.
class Group {
 public:
  using Deadline = std::optional<Clock::time_point>;
  // A timeout of 0 or less: no deadline.
  static Deadline deadline_after(std::chrono::microseconds timeout);

  explicit Group(Watch watch);
  // Sets the executor, which polls `failure_word` and reports ended data connections to `monitor`.
  void take(std::unique_ptr<Executor> executor) { executor_ = std::move(executor); }
  int rank() const { return rank_; }
  const FailureWord& failure_word() const { return word_; }
  Monitor& monitor() { return monitor_; }

  // Whether try_execute() accepts this call: in the middle of a collective, only the call that
  // began it. Not while another thread executes.
  bool may_execute(const Call& call) const { return !is_under_way_ || has_failed() || call.offer.id == under_way_id_; }
  // Begins or continues a collective. `patience` and the time slice limit it as in `Executor`.
  Status try_execute(Call& call, std::chrono::microseconds patience, std::chrono::microseconds time_slice);
  // Continues until the collective ends with kDone, kFailed, kDisagreed or kExpired, or returns
  // kWaiting after about `longest`. After kDisagreed and kExpired, the caller must fail the group
  // by Monitor::fail and then call this again.
  Status execute(Call& call, Deadline deadline, std::optional<std::chrono::microseconds> longest = std::nullopt);

  bool has_failed() const { return word_.load(std::memory_order_relaxed) != 0; }
  std::uint64_t sequence() { return calls_.current(); }
  // The ranks that have not arrived at the collective under way, as far as their answers are known.
  // Any thread may call this.
  std::vector<int> absent();
  // Milliseconds since the event loop of each rank has turned, as far as the ranks have answered.
  std::vector<std::optional<std::uint32_t>> quiet_millis();
  // Records that the event loop of this rank turns.
  void note_turn() { calls_.note_turn(); }
  // missing(): the ranks that had not arrived at the collective that expired. states(): the request
  // of each rank in the collective about which the ranks disagree.
  const std::vector<int>& missing() const { return missing_; }
  const std::vector<std::optional<State>>& states() const { return states_; }

 private:
  Status execute_or_fail(Call& call, std::chrono::microseconds patience, std::chrono::microseconds time_slice);
  Status end(Status status);
  Status settle();
  Status disagree(const Call& call);
  Status expire(Call& call);
  bool is_contradicted(const Call& call);
  Status find_failure(const Call& call);

  const int rank_;
  FailureWord word_{0};
  Calls calls_;
  Monitor monitor_;
  std::unique_ptr<Executor> executor_;
  bool is_under_way_ = false;
  std::uint64_t under_way_id_ = 0;
  // The executor has reported a disagreement and cannot continue the collective.
  bool has_disagreed_ = false;
  std::vector<int> missing_;
  std::vector<std::optional<State>> states_;
};

}  // namespace coll

#endif

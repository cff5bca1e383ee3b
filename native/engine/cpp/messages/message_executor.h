#pragma once

#if defined(__linux__)

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "../clock.h"
#include "../processes/executor.h"
#include "../threads/assigned_core.h"
#include "../record/call_stamp.h"
#include "exchange.h"
#include "small_all_reduce.h"

namespace coll {

// Executes collectives by messages, with one thread for all peers: Offer::messages, or
// SmallAllReduce for small all-reduces.
class MessageExecutor : public Executor {
 public:
  // `channels`: by rank, null for one's own. `local`: this rank among the ranks of its host.
  // `all_share_cores`: all ranks are on one host with fewer cores than ranks, on which few messages
  // are better than few rounds. `generation`: of the group. The last two must be the same on all
  // ranks. `lost` is called with the rank that is gone and errno: 0 if its stream has ended too
  // early, EBADMSG if the stream is corrupt.
  MessageExecutor(std::vector<std::unique_ptr<Channel>> channels, int rank, int size, const LocalRank& local, bool all_share_cores,
                std::uint32_t generation, const FailureWord& failure, std::function<void(int rank, int error)> lost);

  // All further calls fail after a rank was lost, has disagreed, or a collective was abandoned.
  Status execute(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice = kLongestTimeSlice) override;
  void abandon() override;
  bool came_last() const override { return came_last_; }

 private:
  bool has_failed() const { return is_broken_ || failure_.load(std::memory_order_relaxed) != 0; }
  Status advance(Offer& offer, std::chrono::microseconds patience, std::chrono::microseconds time_slice);
  void begin(Offer& offer);
  Status fail(Status status);
  void wait(Clock::time_point now, Clock::time_point deadline);
  void yield_regularly();
  void avoid_shared_core(Clock::time_point now);
  void sleep(int millis);

  Exchange exchange_;
  SmallAllReduce small_all_reduce_;
  const FailureWord& failure_;
  const int rank_;
  const bool has_own_core_;
  AssignedCore assigned_core_;
  const std::uint32_t generation_;
  std::uint64_t sequence_ = 0;
  bool is_under_way_ = false;
  bool is_small_all_reduce_ = false;
  bool is_broken_ = false;
  bool came_last_ = false;
  std::size_t yielded_bytes_ = 0;  // bytes moved until the last yield
  Clock::time_point moved_{};  // when bytes last moved
  Clock::time_point left_core_{};
  WaitStamp wait_stamp_;
  std::shared_ptr<const MessageProgram> program_;
  std::vector<pollfd> polled_;
};

}  // namespace coll

#endif

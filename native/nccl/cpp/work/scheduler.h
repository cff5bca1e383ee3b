#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>

#include "flight_recorder.h"
#include "operation.h"

namespace coll {

// Brings operations from the calling threads to the devices. The submission thread launches them in
// the order of the calls, and is the only one that calls CUDA and NCCL, except for the states of
// events and communicators. Another thread completes operations, and a third one watches deadlines.
//
// The memory that a failed operation may have written is spoiled, and so are all results made from
// it: operations that use them fail too, whether they are queued or launched. Failures are marked
// before a communicator is aborted, so that no result which the abort lets through counts as valid.
class Scheduler {
 public:
  // Work on the submission thread that is not an operation, such as a free.
  using Chore = std::function<void()>;

  // Starts the threads, which end with the process.
  Scheduler();

  // Submits an operation. It fails at once if it uses spoiled memory or a failed clique.
  void submit(SharedOperation operation);
  // Submits a chore, on any thread. It runs between operations; a blocking chore runs only while no
  // communicator has work.
  void submit_chore(Chore chore);
  void submit_blocking_chore(Chore chore);

  // Runs `prepare`, a part of a launch that may take long, such as compiling kernels. Deadlines
  // stand still meanwhile, but not longer than a timeout.
  void while_deadlines_stand(const std::function<void()>& prepare);

  // Fails one operation, all operations that depend on it, and its clique.
  void fail(const SharedOperation& operation, const Failure& failure);
  // Fails all operations of a clique that are not settled, and aborts it.
  void fail_clique(Clique& clique, const Failure& failure);
  bool has_failed(const Operation& operation) const;

  void configure(Clock::duration timeout, Clock::duration grace);
  Clock::duration timeout() const;
  Clock::duration grace() const;
  // Adds a listener. All listeners are called once, with a sentence, if a call is stuck and only
  // the end of the process helps; a later listener is called at once.
  void on_stuck(std::function<void(const std::string&)> listener);
  void report_stuck(const std::string& message);

  // Called before and after calls of CUDA and NCCL on other threads. begin_call() returns false
  // once the process ends: the call must not be made.
  bool begin_call();
  void end_call();
  // For the end of the process: launches nothing more, and waits up to `longest` until no thread is
  // inside a call of CUDA or NCCL and the GPUs have finished. Returns whether this is so.
  bool come_to_rest(std::chrono::milliseconds longest);

  std::vector<FlightEntry> flight_record() const;
  std::size_t unsettled() const;
  // The lock under which cliques are changed and read.
  std::mutex& mutex() const { return mutex_; }

 private:
  void submit_all();
  void complete_all();
  void watch_all();

  // Releases the lock while the operation runs.
  void attempt(const SharedOperation& operation, std::unique_lock<std::mutex>& lock, bool (*launches)(Operation&));
  void launch(const SharedOperation& operation, std::unique_lock<std::mutex>& lock);
  void poll_begun(std::unique_lock<std::mutex>& lock);
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void conclude(const SharedOperation& operation);
  // The caller of the following functions holds the lock.
  void let_complete(const SharedOperation& operation);
  void settle(const SharedOperation& operation, const Failure* failure);
  void fail_one(const SharedOperation& operation, const Failure& failure, bool spoils);
  void spread();
  void spread_to(const SharedOperation& operation);
  void end_clique(Clique& clique, const Failure& failure);
  [[noreturn]] void rest(std::unique_lock<std::mutex>& lock);
  void watch_deadlines(Clock::time_point now);
  void watch_cliques();
  void watch_launches(Clock::time_point now);
  bool do_deadlines_stand(Clock::time_point now) const;
  void resume_deadlines();
  void report_stuck_locked(const std::string& message);
  bool may_block() const;

  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_flights_;
  std::deque<SharedOperation> queue_;
  std::deque<Chore> chores_;
  std::deque<Chore> blocking_chores_;
  SharedOperation launching_;
  Clock::time_point failed_while_launching_{};
  Clock::time_point standing_since_{};
  // Launches that are not complete, because other ranks have not arrived.
  std::vector<SharedOperation> begun_;
  std::deque<SharedOperation> launched_;
  // The operations that are not settled, in the order of submission.
  std::list<SharedOperation> unsettled_;
  // The number of launched operations of cliques that the device has not finished.
  int busy_cliques_ = 0;
  // Whether the process ends. Threads of this scheduler that are idle then stay idle.
  bool is_ending_ = false;
  // Whether the submission thread stays idle. A launch may return after the process has begun to end,
  // so the completion thread stays idle only after this.
  bool launches_no_more_ = false;
  int resting_ = 0;
  int calls_elsewhere_ = 0;
  bool has_refused_calls_ = false;
  std::condition_variable for_ever_;
  FlightRecorder recorder_;
  Clock::duration timeout_ = std::chrono::minutes(10);
  Clock::duration grace_ = std::chrono::seconds(10);
  std::vector<std::function<void(const std::string&)>> on_stuck_;
  std::string stuck_;
  std::uint64_t latest_sequence_ = 0;
};

}  // namespace coll

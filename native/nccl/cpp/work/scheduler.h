#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>

#include "flight_recorder.h"
#include "operation.h"

namespace coll {

// Takes operations from the calling threads to the devices. One thread submits, in the order of the calls, and is the only one that calls
// CUDA and NCCL (but for the states of events and communicators); one thread completes; one thread watches.
//
// What a failed operation may have written is spoiled, and so is all that was made from it: that fails, too, whether it is still
// queued or on its way. Failures are marked before a communicator is aborted, so nothing that the abort lets through can pass for a result.
class Scheduler {
 public:
  // For what runs on the submission thread and is no operation, such as frees. May be called on any thread.
  using Chore = std::function<void()>;

  // Starts the threads, which end with the process.
  Scheduler();

  // Settles at once where it uses what is spoiled, or a clique that has failed.
  void submit(SharedOperation operation);
  // Runs between operations; a blocking one only while no communicator has work.
  void submit_chore(Chore chore);
  void submit_blocking_chore(Chore chore);

  // For what a launch may have to do first, and what may take long, such as compiling kernels. Deadlines stand still meanwhile, though no longer
  // than a timeout.
  void while_deadlines_stand(const std::function<void()>& prepare);

  // Fails one operation and what depends on it; takes its clique along.
  void fail(const SharedOperation& operation, const Failure& failure);
  // Fails all that a clique has under way, and aborts it.
  void fail_clique(Clique& clique, const Failure& failure);
  bool has_failed(const Operation& operation) const;

  void configure(Clock::duration timeout, Clock::duration grace);
  Clock::duration timeout() const;
  Clock::duration grace() const;
  // All are called, once, with the sentence that says that only the end of the process helps; at once where that is known.
  void on_stuck(std::function<void(const std::string&)> listener);
  void report_stuck(const std::string& message);

  // Around calls of CUDA and NCCL on other threads than these. False once the process ends: such a call may no longer be made.
  bool begin_call();
  void end_call();
  // For the end of the process: launches nothing more, and waits so long until no thread is in a call of CUDA or NCCL, nor ever makes one, and the GPUs
  // have finished what was launched. Whether they have.
  bool come_to_rest(std::chrono::milliseconds longest);

  std::vector<FlightEntry> flight_record() const;
  std::size_t unsettled() const;
  // Under this, cliques change and are looked at.
  std::mutex& mutex() const { return mutex_; }

 private:
  void submit_all();
  void complete_all();
  void watch_all();

  // Holds the lock but for the time that the operation takes.
  void attempt(const SharedOperation& operation, std::unique_lock<std::mutex>& lock, bool (*launches)(Operation&));
  void launch(const SharedOperation& operation, std::unique_lock<std::mutex>& lock);
  void poll_begun(std::unique_lock<std::mutex>& lock);
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void conclude(const SharedOperation& operation);
  // These expect the lock.
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
  // Launches that take their time: other ranks have to come.
  std::vector<SharedOperation> begun_;
  std::deque<SharedOperation> launched_;
  // In the order of submission.
  std::list<SharedOperation> unsettled_;
  // Launched operations of cliques that the device has not finished.
  int busy_cliques_ = 0;
  // The process ends. Our threads, once they rest, do so for good.
  bool is_ending_ = false;
  int resting_ = 0;
  int calls_elsewhere_ = 0;
  std::condition_variable for_ever_;
  FlightRecorder recorder_;
  Clock::duration timeout_ = std::chrono::minutes(10);
  Clock::duration grace_ = std::chrono::seconds(10);
  std::vector<std::function<void(const std::string&)>> on_stuck_;
  std::string stuck_;
  std::uint64_t latest_sequence_ = 0;
};

}  // namespace coll

#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backoff.h"
#include "group.h"
#include "task.h"

namespace coll {

// The MPI library that is in use, and the rank of this process.
struct Facts {
  std::string abi;
  std::string version;
  std::string path;
  std::string how;
  int rank = -1;
  int size = 0;
  int local_ranks = 0;
  // The name of each rank's host, by rank.
  std::vector<std::string> hosts;
};

// The MPI of this process. One thread owns it at a time: the thread of this engine, which makes
// progress on all groups, or a JavaScript thread that makes a call and makes progress on all groups
// while it waits. Handing a call to another thread would take longer than a small collective.
class Engine {
 public:
  // Never destroyed: a waiting condition variable would keep the process from exiting.
  static Engine& the();

  // Opens the library at the first call. Throws an Error with the reason if that fails.
  const Facts& load(const std::string& path);
  const Facts& facts() const { return facts_; }
  Mpi& mpi() { return *mpi_; }
  const Types& types() const { return *types_; }

  // Gives a task to the thread of MPI, which executes it to its end.
  void submit(std::unique_ptr<Task> task);

  // Executes a call for at most that many microseconds, and then leaves it to the thread of MPI.
  Status begin(Group& group, std::shared_ptr<const Plan> plan, double millis, bool is_checked, int patience_micros);
  // Executes a call until it ends. Returns kPending after a while, so that a JavaScript thread can
  // be ended.
  Status begin_and_wait(Group& group, std::shared_ptr<const Plan> plan, double millis, bool is_checked);
  Status wait(Group& group);
  // Runs a function while this thread owns MPI.
  void own(const std::function<void()>& use);

  // Starts MPI. Called by tasks; the caller owns MPI.
  void start();
  void add(std::shared_ptr<Group> group) { groups_.push_back(std::move(group)); }
  void finalize();

  // Leaves all groups and ends MPI, because the process exits. Returns false if the other ranks did not end within
  // `seconds`; 0 for no limit.
  bool finalize_at_exit(double seconds);
  // Ends the job with this code after the process has printed all of its output. Does not notify the other ranks before:
  // they would end the job with codes of their own.
  void abort_at_exit(int code);
  void abort(int code);

 private:
  class Claim;

  Engine();
  void serve();
  bool pass(bool is_due);
  void sweep();
  void stop();
  void rest(std::chrono::microseconds time);
  void notify();
  bool has_work();
  bool try_to_own();
  template <class IsOver>
  void drive(Claim& claim, Group& group, bool may_sleep, IsOver is_over);
  static void at_exit();

  std::mutex loading_;
  std::unique_ptr<Mpi> mpi_;
  std::unique_ptr<Types> types_;
  Facts facts_;
  WaitingPolicy policy_;

  // Held by the owner of MPI.
  std::mutex ownership_;
  // The number of JavaScript threads that own MPI or wait for it. They take precedence over the
  // thread of MPI.
  std::atomic<int> claims_{0};
  std::vector<std::shared_ptr<Group>> groups_;
  std::list<std::unique_ptr<Task>> tasks_;

  std::mutex new_tasks_mutex_;
  std::list<std::unique_ptr<Task>> new_tasks_;
  std::atomic<bool> has_new_tasks_{false};
  bool has_thread_ = false;

  std::mutex resting_;
  std::condition_variable notified_;
  bool is_notified_ = false;

  bool is_started_ = false;
  std::atomic<bool> is_finalized_{false};
  std::atomic<bool> is_stopped_{false};
  std::atomic<int> exit_code_{1};
};

}  // namespace coll

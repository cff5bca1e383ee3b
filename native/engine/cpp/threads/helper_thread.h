#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "../cache_line.h"
#include "../clock.h"

namespace coll {

// Work that helpers join. `work` may be called by several threads at the same time.
class Job {
 public:
  virtual void work(int worker) = 0;
  // The core on which the owner runs; -1 if unknown.
  virtual int core() const = 0;

 protected:
  ~Job() = default;
};

// A thread that executes parts of jobs for different owners, one job at a time. After each job it
// polls for the next one for a moment, then sleeps. It leaves the core of an owner.
class alignas(kCacheLinePair) HelperThread {
 public:
  // @throws std::system_error if the system refuses a thread
  HelperThread();
  // Must not be called while a job is running.
  ~HelperThread();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  bool is_asleep() const { return is_asleep_.load(std::memory_order_relaxed); }
  // Reserves the helper for one job. Returns a ticket; 0 if the helper has another job.
  std::uint32_t reserve();
  // Offers a job to the reserved helper, and wakes it. The job must live until `withdraw` has
  // returned.
  void offer(std::uint32_t ticket, Job& job, int worker);
  // Waits until the helper has left the job. If the helper has not begun, it no longer can. Returns
  // whether it took part.
  bool withdraw(std::uint32_t ticket);

 private:
  void run();
  void leave_core_of_owner();

  // The ticket of the latest job, with the state of the helper in the last two bits.
  std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> is_asleep_{false};
  // Written by the owner of the job before it is offered.
  Job* job_ = nullptr;
  int worker_ = 0;
  Clock::time_point moved_{};
  std::thread thread_;
};

}  // namespace coll

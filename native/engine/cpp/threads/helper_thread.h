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

// A thread that does parts of jobs of different owners, one job at a time. It polls for the next
// one for a moment after each, and then sleeps. It does not stay on the core of an owner.
class alignas(kCacheLinePair) HelperThread {
 public:
  // @throws std::system_error if the system refuses a thread
  HelperThread();
  // No job may be under way.
  ~HelperThread();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  bool is_asleep() const { return is_asleep_.load(std::memory_order_relaxed); }
  // Reserves the helper for one job. Returns a ticket; 0 if the helper has another job.
  std::uint32_t reserve();
  // Offers a job to the reserved helper, and wakes it. The job must live until `withdraw` has
  // returned.
  void offer(std::uint32_t ticket, Job& job, int worker);
  // Waits until the helper has left the job; if it has not begun, it never will. Returns whether it
  // took part.
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

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "../cache_line.h"
#include "../thresholds.h"
#include "helper_thread.h"
#include "helper_limit.h"

namespace coll {

// Work that consists of independent parts.
struct Task {
  // Called for ranges that cover 0 to `count`, in units of `unit`.
  void (*work)(void* context, int worker, std::size_t begin, std::size_t end);
  void* context;
  std::size_t count;
  std::size_t unit;
  // The number of bytes that the task reads, and the number of bytes for which it wakes a sleeping
  // helper: see Thresholds.
  std::size_t bytes;
  std::size_t waking_bytes = Thresholds().waking_bytes;

  std::size_t units() const { return (count + unit - 1) / unit; }
};

// A task that several workers execute. Each has units that it takes first; a worker that has
// finished its own takes units of the others.
class SharedJob final : public Job {
 public:
  explicit SharedJob(int most_workers);

  int most_workers() const { return most_workers_; }
  // Divides the units of a task among the workers. `is_timed`: whether to measure units.
  void begin(const Task& task, int workers, bool is_timed);
  void work(int worker) override;
  int core() const override { return core_; }
  // The times of all workers, which must have left the job.
  HelperLimit::UnitTimes times() const;

 private:
  struct alignas(kCacheLinePair) Queue {
    std::atomic<std::size_t> next;
    std::size_t end;
    HelperLimit::UnitTimes times;
  };

  const int most_workers_;
  const std::unique_ptr<Queue[]> queues_;
  Task task_{};
  int workers_ = 1;
  int core_ = -1;
  bool is_timed_ = false;
};

}  // namespace coll

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "../cache_line.h"

namespace coll {

// Threads that help their owner with a task of independent parts. They start with the first task, poll for the next one for a moment
// after each, and then sleep. The destructor ends them.
class ThreadPool {
 public:
  // `work(context, worker, begin, end)` is called for ranges that cover 0 to `count`, in units of `unit`.
  struct Task {
    void (*work)(void* context, int worker, std::size_t begin, std::size_t end);
    void* context;
    std::size_t count;
    std::size_t unit;
  };

  explicit ThreadPool(int helpers);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The owner is worker 0, its helpers are 1 to `helpers`.
  int workers() const { return helpers_ + 1; }
  // Returns when the task is done. The caller takes part, and does everything if no helper comes in time.
  void run(const Task& task);

 private:
  // The units that a worker takes first. A worker that has finished its own takes units of the others.
  struct alignas(kCacheLine) Queue {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  void start();
  void help(int worker);
  void work(int worker);

  const int helpers_;
  Task task_{};
  std::unique_ptr<Queue[]> queues_;
  // A helper counts itself in `inside_` before it reads `open_`; the owner clears `open_` before it reads `inside_`. Both are
  // sequentially consistent: a helper that is late finds the task closed and touches nothing.
  alignas(kCacheLine) std::atomic<std::uint32_t> open_{0};  // the number of the task, 0 between tasks
  alignas(kCacheLine) std::atomic<std::uint32_t> latest_{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> inside_{0};
  std::atomic<std::uint32_t> parked_{0};
  std::atomic<bool> has_ended_{false};
  std::vector<std::thread> threads_;
};

}  // namespace coll

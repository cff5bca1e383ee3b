#include "thread_pool.h"

#include <algorithm>
#include <system_error>

#include "../tuning.h"
#include "waiting.h"

namespace coll {
ThreadPool::ThreadPool(int helpers) : helpers_(helpers), queues_(new Queue[static_cast<std::size_t>(helpers) + 1]) {}

ThreadPool::~ThreadPool() {
  has_ended_.store(true);
  latest_.fetch_add(1);
  unpark(latest_);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::start() {
  threads_.reserve(static_cast<std::size_t>(helpers_));
  try {
    for (int worker = 1; worker <= helpers_; ++worker) threads_.emplace_back([this, worker] { help(worker); });
  } catch (const std::system_error&) {
    // The system refuses more threads: the owner does the work of the missing ones.
  }
}

void ThreadPool::run(const Task& task) {
  if (helpers_ > 0 && threads_.empty()) start();
  task_ = task;
  const std::size_t workers = static_cast<std::size_t>(helpers_) + 1;
  const std::size_t units = (task.count + task.unit - 1) / task.unit;
  for (std::size_t i = 0; i < workers; ++i) {
    queues_[i].next.store(std::min(units * i / workers * task.unit, task.count), std::memory_order_relaxed);
    queues_[i].end = std::min(units * (i + 1) / workers * task.unit, task.count);
  }
  std::uint32_t number = latest_.load(std::memory_order_relaxed) + 1;
  number += number == 0;
  open_.store(number);
  latest_.store(number);
  if (parked_.load() != 0) unpark(latest_);
  work(0);
  open_.store(0);
  // Helpers may still be executing their last units.
  spin_until(tuning::kPoolSpins, [this] { return inside_.load() == 0; });
}

void ThreadPool::help(int worker) {
  std::uint32_t seen = 0;
  while (!has_ended_.load()) {
    for (int spin = 0; spin < tuning::kPoolSpins && latest_.load() == seen; ++spin) pause();
    if (latest_.load() == seen) {
      parked_.fetch_add(1);
      park(latest_, seen, tuning::kPoolSleepMillis);
      parked_.fetch_sub(1);
      continue;
    }
    seen = latest_.load();
    inside_.fetch_add(1);
    if (open_.load() == seen) work(worker);
    inside_.fetch_sub(1);
  }
}

void ThreadPool::work(int worker) {
  const int workers = helpers_ + 1;
  for (int i = 0; i < workers; ++i) {
    Queue& queue = queues_[static_cast<std::size_t>((worker + i) % workers)];
    for (;;) {
      const std::size_t begin = queue.next.fetch_add(task_.unit);
      if (begin >= queue.end) break;
      task_.work(task_.context, worker, begin, std::min(begin + task_.unit, queue.end));
    }
  }
}

}  // namespace coll

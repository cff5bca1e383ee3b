#include "shared_job.h"

#include <algorithm>

#include "waiting.h"

namespace coll {

SharedJob::SharedJob(int most_workers) : most_workers_(most_workers), queues_(new Queue[static_cast<std::size_t>(most_workers)]) {}

void SharedJob::begin(const Task& task, int workers, bool is_timed) {
  task_ = task;
  workers_ = workers;
  is_timed_ = is_timed;
  core_ = workers > 1 ? current_core() : -1;
  const std::size_t units = task.units();
  const auto count = static_cast<std::size_t>(workers);
  for (std::size_t i = 0; i < count; ++i) {
    queues_[i].next.store(std::min(units * i / count * task.unit, task.count), std::memory_order_relaxed);
    queues_[i].end = std::min(units * (i + 1) / count * task.unit, task.count);
    queues_[i].times = {Clock::duration::zero(), Clock::duration::max()};
  }
}

void SharedJob::work(int worker) {
  HelperLimit::UnitTimes& times = queues_[static_cast<std::size_t>(worker)].times;
  auto before = is_timed_ ? Clock::now() : Clock::time_point{};
  for (int i = 0; i < workers_; ++i) {
    Queue& queue = queues_[static_cast<std::size_t>((worker + i) % workers_)];
    for (;;) {
      const std::size_t begin = queue.next.fetch_add(task_.unit, std::memory_order_relaxed);
      if (begin >= queue.end) break;
      task_.work(task_.context, worker, begin, std::min(begin + task_.unit, queue.end));
      if (!is_timed_) continue;
      const auto now = Clock::now();
      times.longest = std::max(times.longest, now - before);
      times.shortest = std::min(times.shortest, now - before);
      before = now;
    }
  }
}

HelperLimit::UnitTimes SharedJob::times() const {
  HelperLimit::UnitTimes all{Clock::duration::zero(), Clock::duration::max()};
  for (int i = 0; i < workers_; ++i) {
    const HelperLimit::UnitTimes& one = queues_[static_cast<std::size_t>(i)].times;
    all.longest = std::max(all.longest, one.longest);
    all.shortest = std::min(all.shortest, one.shortest);
  }
  return all;
}

}  // namespace coll

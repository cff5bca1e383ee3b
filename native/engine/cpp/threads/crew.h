#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "helper_thread.h"
#include "helper_limit.h"
#include "shared_job.h"

namespace coll {

// The helper threads of this process, shared by all owners of tasks. They start when a task is
// worth them, and end when no owner is left.
class Crew {
 public:
  // No owner may have more helpers.
  static constexpr int kMostHelpers = 256;

  // The crew of this process.
  static std::shared_ptr<Crew> of_process();

  Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Executes the task and returns when it is done. The caller is worker 0 and does the work that no
  // helper does. Several threads may call this at the same time, each with its own job.
  void run(const Task& task, SharedJob& job);
  // The number of threads that were started.
  int helpers() const { return started_.load(std::memory_order_relaxed); }

 private:
  struct Claim {
    HelperThread* helper;
    std::uint32_t ticket;
  };
  int claim(const Task& task, int asked, Claim* claims);
  int worth_waking(const Task& task);
  bool start(int index);

  std::mutex starting_;
  std::atomic<int> started_{0};
  std::array<std::unique_ptr<HelperThread>, kMostHelpers> helpers_;
  HelperLimit limit_;
  // The end of the latest task that had fewer helpers than it could use, in ticks of the clock.
  std::atomic<Clock::rep> alone_{0};
};

}  // namespace coll

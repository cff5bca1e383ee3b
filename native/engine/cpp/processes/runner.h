#pragma once

#if defined(__linux__)

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "group.h"

namespace coll {

// Executes the calls of a group one after the other, in a thread that starts with the first call.
class Runner {
 public:
  struct Job {
    std::uint32_t id;
    Call* call;
    // Time limit from the start of the call; 0 or less: none.
    std::chrono::microseconds timeout;
    // The entry of the call in a record, which exists until the call has ended; null if the call is
    // not recorded.
    std::byte* recorded = nullptr;
  };
  struct Result {
    std::uint32_t id;
    Status status;
  };

  // `wake` is called in that thread when there are results, and not again until these were taken.
  Runner(Group& group, std::function<void()> wake) : group_(group), wake_(std::move(wake)) {}
  // Ends the call that is running. The group must have failed.
  ~Runner();

  // Throws std::exception if the system has no more threads or memory.
  void submit(const Job& job);
  std::vector<Result> take_results();

 private:
  void run();
  Status execute(const Job& job);

  Group& group_;
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable has_jobs_;
  std::deque<Job> jobs_;
  std::vector<Result> results_;
  bool must_end_ = false;
  std::thread thread_;
};

}  // namespace coll

#endif

#if defined(__linux__)

#include "runner.h"

#include <exception>
#include <string>

#include "../record/call_stamp.h"

namespace coll {

Runner::~Runner() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    must_end_ = true;
    jobs_.clear();
  }
  has_jobs_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Runner::submit(const Job& job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    jobs_.push_back(job);
  }
  has_jobs_.notify_one();
}

std::vector<Runner::Result> Runner::take_results() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::move(results_);
}

// An error here, such as a lack of memory, fails the group but not the process.
Status Runner::execute(const Job& job) {
  const ContinuedCall continued(job.recorded);
  try {
    return group_.execute(*job.call, Group::deadline_after(job.timeout));
  } catch (const std::exception& error) {
    group_.monitor().fail_here(std::string("cannot continue: ") + error.what());
    return Status::kFailed;
  }
}

void Runner::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    has_jobs_.wait(lock, [this] { return must_end_ || !jobs_.empty(); });
    if (must_end_) return;
    const Job job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    const Status status = execute(job);
    lock.lock();
    results_.push_back({job.id, status});
    if (results_.size() == 1) wake_();
    // JavaScript fails the group once it has this result; until then no other call may begin.
    while (status != Status::kDone && !group_.has_failed() && !must_end_) has_jobs_.wait_for(lock, std::chrono::milliseconds(1));
  }
}

}  // namespace coll

#endif

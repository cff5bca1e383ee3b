#include "group.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace coll::doubles {
namespace {

thread_local int depth = 0;
thread_local std::vector<Waiting> group;
thread_local nccl::Result failure = nccl::kSuccess;

nccl::Result run_group(const std::vector<Waiting>& all) {
  std::vector<nccl::Result> results(all.size(), nccl::kSuccess);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].prepare) threads.emplace_back([&, i] { results[i] = all[i].prepare(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const nccl::Result result : results) {
    if (result != nccl::kSuccess) return result;
  }
  for (const bool is_late : {false, true}) {
    for (const Waiting& waiting : all) {
      if (waiting.start && waiting.waits_for_message == is_late) waiting.start();
    }
  }
  return nccl::kSuccess;
}

nccl::Result run_in_background(std::vector<Waiting> all) {
  for (const Waiting& waiting : all) {
    ++waiting.record->calls;
    waiting.record->waiting = std::this_thread::get_id();
    waiting.record->state = nccl::kInProgress;
  }
  std::thread([all = std::move(all)] {
    const nccl::Result result = run_group(all);
    for (const Waiting& waiting : all) {
      --waiting.record->calls;
      nccl::Result expected = nccl::kInProgress;
      waiting.record->state.compare_exchange_strong(expected, result);
    }
  }).detach();
  return nccl::kInProgress;
}

}  // namespace

void begin_group() { ++depth; }

nccl::Result add_to_group(Waiting waiting) {
  if (depth > 0) {
    group.push_back(std::move(waiting));
    return nccl::kSuccess;
  }
  begin_group();
  group.push_back(std::move(waiting));
  return end_group();
}

nccl::Result fail_group(nccl::Result result) {
  if (depth > 0) failure = result;
  return result;
}

nccl::Result end_group() {
  if (depth == 0) return nccl::kInvalidUsage;
  if (--depth > 0) return nccl::kSuccess;
  std::vector<Waiting> all;
  all.swap(group);
  const nccl::Result failed = std::exchange(failure, nccl::kSuccess);
  if (failed != nccl::kSuccess) return failed;
  if (all.empty()) return nccl::kSuccess;
  const auto is_blocking = [](const Waiting& waiting) { return waiting.record->is_blocking; };
  if (std::all_of(all.begin(), all.end(), is_blocking)) return run_group(all);
  if (std::any_of(all.begin(), all.end(), is_blocking)) return nccl::kInvalidArgument;
  return run_in_background(std::move(all));
}

}  // namespace coll::doubles

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <random>

#include "../../libraries/cuda_types.h"

namespace coll::doubles {

// The number of streams that exist.
extern std::atomic<long> stream_count;
extern std::atomic<long> event_count;

// Waits until no stream has anything to do.
void wait_for_all_streams();

}  // namespace coll::doubles

namespace coll::cuda {

// A stream is a thread with a queue, as asynchronous as a GPU.
struct StreamRecord {
  explicit StreamRecord(int owner);
  void wait();
  void put(std::function<void()> task);

  const int device;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool is_busy = false;
  std::mt19937 delays;

 private:
  void run();
};

// How often the event was recorded, and how often a stream has reached a record of it.
struct EventRecord {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0;
  std::uint64_t passed = 0;
  int device = 0;
};

}  // namespace coll::cuda

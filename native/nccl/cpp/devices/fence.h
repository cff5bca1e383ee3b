#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "../libraries/cuda_driver.h"

namespace coll {

// The events of one device, used again and again. Threads of several kinds give them back.
class EventPool {
 public:
  explicit EventPool(const cuda::Driver& driver) : driver_(driver) {}

  // The device must be current.
  cuda::Event take();
  void give_back(cuda::Event event);

 private:
  const cuda::Driver& driver_;
  std::mutex mutex_;
  std::vector<cuda::Event> free_;
};

// A point in a stream: all that was put there before.
class Fence {
 public:
  // Marks the end of what the stream holds now. The device must be current, through this context.
  Fence(const cuda::Driver& driver, cuda::Context context, EventPool& pool, cuda::Stream stream);
  ~Fence() { pool_.give_back(event_); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  cuda::Stream stream() const { return stream_; }
  // Whether the device has come here. On any thread, whose current device it becomes. Throws where it failed on the way.
  bool has_passed() const;
  // What is put into the stream from now on waits for this. Does nothing on the fence's own stream, which keeps order anyway.
  void hold_back(cuda::Stream stream) const;

 private:
  const cuda::Driver& driver_;
  cuda::Context context_;
  EventPool& pool_;
  cuda::Stream stream_;
  cuda::Event event_;
};

using SharedFence = std::shared_ptr<const Fence>;

}  // namespace coll

#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "../libraries/cuda_driver.h"

namespace coll {

// The events of one device, which are reused. Several threads return them.
class EventPool {
 public:
  explicit EventPool(const cuda::Driver& driver) : driver_(driver) {}

  // Takes an event of the pool, or makes one. The device must be current.
  cuda::Event take();
  void give_back(cuda::Event event);

 private:
  const cuda::Driver& driver_;
  std::mutex mutex_;
  std::vector<cuda::Event> free_;
};

// A point in a stream, after all work that was submitted before.
class Fence {
 public:
  // Marks the current end of the stream. The device must be current, through this context.
  Fence(const cuda::Driver& driver, cuda::Context context, EventPool& pool, cuda::Stream stream);
  ~Fence() { pool_.give_back(event_); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

  cuda::Stream stream() const { return stream_; }
  // Whether the device has reached this point. May be called on any thread, and makes the device
  // current there. Throws if the device has failed before.
  bool has_passed() const;
  // Makes later work of the stream wait for this point. Does nothing for the fence's own stream,
  // which executes in order anyway.
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

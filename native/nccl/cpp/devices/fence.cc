#include "fence.h"

namespace coll {

cuda::Event EventPool::take() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      const cuda::Event event = free_.back();
      free_.pop_back();
      return event;
    }
  }
  cuda::Event event = nullptr;
  driver_.require(driver_.event_create(&event, cuda::kEventNoTiming), "cuEventCreate");
  return event;
}

void EventPool::give_back(cuda::Event event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(event);
}

Fence::Fence(const cuda::Driver& driver, cuda::Context context, EventPool& pool, cuda::Stream stream)
    : driver_(driver), context_(context), pool_(pool), stream_(stream), event_(pool.take()) {
  const cuda::Result result = driver.event_record(event_, stream);
  if (result == cuda::kSuccess) return;
  pool.give_back(event_);
  driver.require(result, "cuEventRecord");
}

bool Fence::has_passed() const {
  driver_.require(driver_.context_set(context_), "cuCtxSetCurrent");
  const cuda::Result result = driver_.event_query(event_);
  if (result == cuda::kNotReady) return false;
  driver_.require(result, "the GPU failed");
  return true;
}

void Fence::hold_back(cuda::Stream stream) const {
  if (stream != stream_) driver_.require(driver_.stream_wait(stream, event_, 0), "cuStreamWaitEvent");
}

}  // namespace coll

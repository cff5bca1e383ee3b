#pragma once

#if defined(__linux__)

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "../threads/request.h"
#include "segment.h"

namespace coll {

// The part of a rank's own segment from which tensors are taken. Memory that is given back is kept for the next ones: touching fresh
// memory costs more than any collective. Large tensors lie in huge pages, because buffers of many ranks, together larger than the caches, are
// then gone through in a tenth less time; what of that takes long is left to a thread.
class Arena {
 public:
  Arena(std::shared_ptr<Segment> segment, std::size_t begin);
  ~Arena();

  // Zeros, at the begin of a cache line. Throws Error where there is no room.
  std::byte* allocate(std::size_t bytes);
  // The same, with whatever lies there.
  std::byte* allocate_unset(std::size_t bytes);
  // Gives back what allocate() returned.
  void free(std::byte* memory);

 private:
  std::size_t take(std::size_t bytes);
  std::size_t find(std::size_t bytes);
  void gather(Range range);
  void wake();
  void tend();
  bool gather_next(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  const std::shared_ptr<Segment> segment_;
  std::size_t end_;  // of what has ever been taken
  std::map<std::size_t, std::size_t> free_;   // sizes by offset; no two touch
  std::map<std::size_t, std::size_t> taken_;  // sizes by offset
  std::deque<Range> to_gather_;
  std::condition_variable has_work_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace coll

#endif

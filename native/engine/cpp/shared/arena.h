#pragma once

#if defined(__linux__)

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "../tuning.h"
#include "idle_memory.h"
#include "segment.h"

namespace coll {

// The part of a rank's own segment from which tensors are allocated. Returned memory is kept for
// later tensors for a while, since touching fresh memory costs more than any collective; then the
// system gets it back. Large tensors are put into huge pages: buffers of many ranks that together
// exceed the caches are then processed in a tenth less time. A thread does the part of this that
// takes long.
class Arena {
 public:
  // `keep`: the least time for which huge pages of returned memory are kept; they are returned to
  // the system before twice that time has passed.
  Arena(std::shared_ptr<Segment> segment, std::size_t begin, std::chrono::milliseconds keep = tuning::kKeep);
  ~Arena();

  // Zeroed memory at the beginning of a cache line. Throws Error if there is not enough.
  std::byte* allocate(std::size_t bytes);
  // Like allocate(), with undefined contents.
  std::byte* allocate_unset(std::size_t bytes);
  // Frees memory that allocate() or allocate_unset() returned.
  void free(std::byte* memory);

 private:
  template <class Found>
  std::byte* take(std::size_t bytes, Found found_idle);
  std::size_t find(std::size_t bytes);
  void add_hole(std::size_t offset, std::size_t bytes);
  void collapse(Range range);
  void wake();
  void tend();
  bool collapse_next(std::unique_lock<std::mutex>& lock);
  bool give_back_next(Clock::time_point since);

  const std::chrono::milliseconds keep_;
  std::mutex mutex_;
  const std::shared_ptr<Segment> segment_;
  std::size_t end_;  // end of what was ever allocated
  std::map<std::size_t, std::size_t> free_;   // sizes by offset; no two touch
  std::map<std::size_t, std::size_t> taken_;  // sizes by offset
  IdleMemory idle_;
  std::deque<Range> to_collapse_;
  std::condition_variable has_work_;
  bool has_ended_ = false;
  bool is_resting_ = true;  // the thread sleeps until it is woken, if there is one
  std::thread thread_;
};

}  // namespace coll

#endif

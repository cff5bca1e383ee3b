#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coll {

// From which end a rank goes through its slice of a buffer, where no other rank takes a part of that. The caches hold what was touched last:
// of what a program has written since the call before, the end, as programs write buffers from their begin; of what it has left alone, wherever
// that call has ended.
class Direction {
 public:
  // Before a call; `begin` is where the slice begins in the rank's own input, null where that tells nothing.
  void choose(const std::byte* begin) {
    const bool is_left_alone = begin == nullptr || read(begin) == left_;
    is_from_end_ = !(is_left_alone && is_from_end_);
  }

  bool is_from_end() const { return is_from_end_; }

  // After it.
  void leave(const std::byte* begin) {
    if (begin != nullptr) left_ = read(begin);
  }

 private:
  // A word tells enough: where it happens to be the same again, the direction changes as if all were.
  static std::uint64_t read(const std::byte* begin) {
    std::uint64_t word = 0;
    std::memcpy(&word, begin, sizeof word);
    return word;
  }

  std::uint64_t left_ = 0;
  bool is_from_end_ = false;
};

}  // namespace coll

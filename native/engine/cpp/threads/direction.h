#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coll {

// Chooses the end at which a rank starts to process its slice of a buffer, if no other rank takes
// units of that slice. The caches hold what was touched last. If the program has written the buffer
// since the last call, this is its end, because programs write buffers from their beginning.
// Otherwise it is where the last call ended.
class Direction {
 public:
  // Called before a collective. `begin`: the first byte of the slice in this rank's own input. Null
  // means that the buffer counts as unchanged.
  void choose(const std::byte* begin) {
    const bool is_left_alone = begin == nullptr || read(begin) == left_;
    is_from_end_ = !(is_left_alone && is_from_end_);
  }

  bool is_from_end() const { return is_from_end_; }

  // Called after a collective, with the same argument.
  void leave(const std::byte* begin) {
    if (begin != nullptr) left_ = read(begin);
  }

 private:
  // One word is enough: if the program happens to write the same value there, the buffer is taken
  // to be unchanged, and only speed suffers.
  static std::uint64_t read(const std::byte* begin) {
    std::uint64_t word = 0;
    std::memcpy(&word, begin, sizeof word);
    return word;
  }

  std::uint64_t left_ = 0;
  bool is_from_end_ = false;
};

}  // namespace coll

#include "processes/frames.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "processes/roll.h"

// The frames of a control connection, in parts of the size that the first byte states.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t part = 1 + data[0];
  coll::FrameReader reader;
  coll::Roll roll(70);
  for (std::size_t at = 1; at < size && !reader.is_broken();) {
    const std::size_t count = std::min({part, size - at, reader.room_bytes()});
    // A reader that has no room for more must have found a frame, or that there is none.
    if (count == 0) std::abort();
    std::memcpy(reader.room(), data + at, count);
    reader.add(count);
    at += count;
    while (const auto frame = reader.next()) {
      // What was parsed must be written as it was read, unless its text is shortened or cleaned.
      const auto asked = coll::asked_of(*frame);
      if (asked && coll::ask_frame(*asked).substr(5) != frame->body) std::abort();
      const auto count_read = coll::count_of(*frame);
      if (count_read && coll::left_frame(*count_read).substr(5) != frame->body) std::abort();
      const auto failure = coll::failure_of(*frame);
      if (failure && coll::failure_frame(*failure).size() > coll::kMostFrameBytes + 4) std::abort();
      coll::answer_of(*frame);
      roll.merge(frame->body);
    }
  }
  return 0;
}

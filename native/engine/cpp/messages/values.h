#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "../threads/offer.h"
#include "message_program.h"

namespace coll {

// The values of a collective under way: the memory of their elements, and how many are ready.
class Values {
 public:
  // Elements that are consecutive in memory.
  struct MemoryRange {
    std::byte* at;
    std::size_t count;
  };

  // The program and the offer's memory must exist until the next begin().
  void begin(const MessageProgram& program, const Offer& offer);

  std::size_t element_bytes(std::size_t value) const { return progress_[value].element_bytes; }
  std::size_t count(std::size_t value) const { return progress_[value].count; }
  std::size_t bytes(std::size_t value) const { return count(value) * element_bytes(value); }
  std::size_t ready(std::size_t value) const { return progress_[value].ready; }
  bool is_whole(std::size_t value) const { return ready(value) == count(value); }
  void set_ready(std::size_t value, std::size_t count) { progress_[value].ready = count; }
  // The memory from an element on, up to the end of its piece or of the value. Inputs must not be
  // written.
  MemoryRange range_at(std::size_t value, std::size_t element) const;

 private:
  struct Progress {
    std::size_t begin;  // of the chunk in the input, or else in the output
    std::size_t count;
    std::size_t ready;
    std::size_t element_bytes;
  };

  void fit_work_buffers();

  const MessageProgram* program_ = nullptr;
  const Offer* offer_ = nullptr;
  std::vector<Progress> progress_;
  std::vector<std::size_t> work_offsets_;  // where each of work_buffers begins in work_
  std::unique_ptr<std::byte[]> work_;
  std::size_t work_bytes_ = 0;
};

}  // namespace coll

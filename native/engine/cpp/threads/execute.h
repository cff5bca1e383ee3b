#pragma once

#include <cstddef>
#include <vector>

#include "../thresholds.h"
#include "program.h"

namespace coll {

// The pieces of a rank's input and output. Null if the rank has no input, or if the caller must not
// write its output.
struct RankBuffers {
  const std::byte* const* inputs = nullptr;
  std::byte* const* outputs = nullptr;
};

// The memory of all ranks, as elements of one buffer.
struct GroupBuffers {
  std::vector<RankBuffers> ranks;
  const std::size_t* begins = nullptr;  // where each piece begins, and at last the length of the buffer
  std::size_t piece_count = 0;
  // Whether large results may bypass the caches and inputs may be prefetched: false if the memory
  // stays in a cache.
  bool may_stream = true;
  // See Thresholds.
  std::size_t streamed_bytes = Thresholds().streamed_bytes;

  std::size_t length() const { return begins[piece_count]; }
};

// Working memory of execute(), kept from call to call.
class Scratch {
 public:
  // Allocates memory for a program, unless there is enough.
  void fit(const Program& program);

  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  // A block of accumulators for each rank.
  std::byte* registers(int rank) { return registers_.data() + static_cast<std::size_t>(rank) * register_bytes_; }
  std::size_t block() const { return block_; }

 private:
  std::vector<std::byte> registers_;
  std::size_t register_bytes_ = 0;
  std::size_t block_ = 0;
};

// Executes a program on the elements from `begin` to `end`: reads them from the ranks' inputs and
// writes the results to their outputs. Elements do not depend on each other, so any number of
// threads may execute one program on different ranges.
void execute(const Program& program, const GroupBuffers& buffers, std::size_t begin, std::size_t end, Scratch& scratch);

}  // namespace coll

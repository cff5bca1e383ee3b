#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "direction.h"
#include "program.h"

namespace coll {

struct MessageProgram;

// The memory of a rank: the pieces of its input and of its output, in order. Empty if the rank has
// no input, or no output.
struct Buffers {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
};

// The contribution of a rank to a collective: its program and its memory. While the collective
// runs, the fields that other ranks read do not change, and the memory exists.
struct Offer {
  std::shared_ptr<const Program> program;
  // The same schedule for groups that exchange messages. Not needed by other groups.
  std::shared_ptr<const MessageProgram> messages;
  int rank = 0;        // the rank that makes this offer
  std::size_t length;  // elements of the whole buffer, which the program's chunks cut
  // The first element of each piece in the buffer, followed by the length of the buffer. Inputs and
  // outputs have the same pieces; a block is always one piece.
  std::vector<std::size_t> begins;
  Buffers buffers;
  // Whether all ranks may have the same memory as output, which is then written only once.
  bool shares_result;
  // `fingerprint` must be the same on all ranks; `id` is different for every offer.
  std::uint64_t fingerprint;
  std::uint64_t id;
  // The ids of all ranks' offers that were checked together with this one and have no clash, and
  // whether the ranks share their result. Only its own rank uses this.
  std::vector<std::uint32_t> sound_with;
  bool is_shared = false;
  // The offers with the ids in `sound_with`, if ranks access each other's buffers directly. Each of
  // them exists whenever it is announced.
  std::vector<const Offer*> others;
  // The direction of this offer's calls. For its own rank only.
  Direction direction;
  // The executor that has taken this offer: no other executor accepts it then. For its own rank
  // only.
  const void* executor = nullptr;

  std::size_t piece_count() const { return begins.size() - 1; }
  std::size_t input_bytes() const;
  std::size_t output_bytes() const;
  // The address of an element of its own rank's input, if the input is one piece that has the whole
  // buffer; otherwise null.
  const std::byte* input_at(std::size_t element) const;
  // The size of one piece of the input or output, which has `bytes` in all.
  std::size_t bytes_of_piece(std::size_t piece, std::size_t bytes) const;
};

// A hash: equal for equal numbers, and almost certainly different for different ones.
std::uint64_t fingerprint_of(const double* numbers, std::size_t count);

// Whether all ranks have the same memory as their output, and have agreed to share it.
bool is_one_result(const Offer* const* offers, int ranks);

// A conflict between the offers of all ranks: an output that overlaps memory of another owner, or
// pieces that differ.
struct Clash {
  int rank = -1;
  int other = -1;
  bool differs = false;
  explicit operator bool() const { return rank >= 0; }
};

// Checks the offers of all ranks, given in rank order. All ranks get the same result.
Clash find_clash(const Offer* const* offers, int ranks);

}  // namespace coll

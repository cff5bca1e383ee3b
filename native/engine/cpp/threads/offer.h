#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "direction.h"
#include "program.h"

namespace coll {

struct MessageProgram;

// Memory that a rank hands in: the pieces of its input and of its output, each in order. Empty where the rank does not read, or write.
struct Buffers {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
};

// What a rank brings to a collective. What others see of it does not change any more, and what it points at is alive while it is executed.
struct Offer {
  std::shared_ptr<const Program> program;
  // The same for ranks that send each other messages; null where nobody does.
  std::shared_ptr<const MessageProgram> messages;
  int rank = 0;        // whose offer it is
  std::size_t length;  // elements of the whole buffer, which the program's chunks cut
  // Where each piece begins in the buffer, and at last its length. Inputs and outputs are in pieces alike; blocks are in one piece.
  std::vector<std::size_t> begins;
  Buffers buffers;
  // Whether the outputs of all ranks may be one memory, which is written once then.
  bool shares_result;
  // What all ranks must agree about, and what tells this offer from all others.
  std::uint64_t fingerprint;
  std::uint64_t id;
  // The offers of all ranks with which this one had no clash, by their ids, and whether they share their result. For its own rank only.
  std::vector<std::uint32_t> sound_with;
  bool is_shared = false;
  // Those offers, where memory is worked on where it is: alive whenever they are announced.
  std::vector<const Offer*> others;
  // Of this offer's calls; for its own rank only.
  Direction direction;
  // Whoever executes it, as no other can go on with it; for its own rank only.
  const void* executor = nullptr;

  std::size_t piece_count() const { return begins.size() - 1; }
  std::size_t input_bytes() const;
  std::size_t output_bytes() const;
  // Where an element of its own rank's input is, if that is in one piece and as long as the whole buffer; otherwise null.
  const std::byte* input_at(std::size_t element) const;
  // Of a piece of the input or output, which has `bytes` in all.
  std::size_t bytes_of_piece(std::size_t piece, std::size_t bytes) const;
};

// One number for some others; different ones for others, but for the rarest of accidents.
std::uint64_t fingerprint_of(const double* numbers, std::size_t count);

// Whether the ranks share a result, and all of it.
bool is_one_result(const Offer* const* offers, int ranks);

// What is wrong between the offers of all ranks: an output that lies in another rank's memory, or pieces that differ.
struct Clash {
  int rank = -1;
  int other = -1;
  bool differs = false;
  explicit operator bool() const { return rank >= 0; }
};

// Looks at the offers of all ranks, in rank order. All ranks find the same.
Clash find_clash(const Offer* const* offers, int ranks);

}  // namespace coll

#pragma once

#include <cstddef>
#include <cstdint>

#include "../kernels/dtype.h"

namespace coll {

// The collectives, numbered as in @coll/core.
enum class Kind : std::uint8_t { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kGather, kScatter, kAllToAll };
constexpr int kKindCount = 8;

constexpr int kMostRanks = 4096;

// The position of a chunk in a buffer.
struct ChunkPlace {
  std::size_t index;
  std::size_t end;
};

// Elements from `begin` up to, but without, `end`.
struct Range {
  std::size_t begin;
  std::size_t end;
};

// The requested collective, and the number of chunks into which the schedule divides it.
struct Request {
  Kind kind;
  Op op;
  DType dtype;
  int ranks;
  int root;
  std::size_t chunk_count;

  // Whether values are only moved, so that their bits do not change.
  bool moves() const { return kind != Kind::kAllReduce && kind != Kind::kReduce && kind != Kind::kReduceScatter; }
  // The type in which values are combined; that of the elements if they are only moved.
  DType accumulator() const { return moves() ? dtype : accumulator_of(dtype, op); }
  // Whether the whole buffer consists of blocks: one per rank; for all-to-all one per pair of
  // ranks, by sender, then by receiver.
  bool has_blocks() const { return kind >= Kind::kAllGather; }
  // Whether a rank's input, or output, is a part of the whole buffer: one block, or for all-to-all one per rank.
  bool has_block_in() const { return kind == Kind::kAllGather || kind == Kind::kGather || kind == Kind::kAllToAll; }
  bool has_block_out() const { return kind == Kind::kReduceScatter || kind == Kind::kScatter || kind == Kind::kAllToAll; }
  bool reads(int rank) const { return (kind != Kind::kBroadcast && kind != Kind::kScatter) || rank == root; }
  bool writes(int rank) const { return (kind != Kind::kReduce && kind != Kind::kGather) || rank == root; }
  // Whether all ranks get the same result, so that one memory may hold it.
  bool has_one_result() const { return kind == Kind::kAllReduce || kind == Kind::kBroadcast || kind == Kind::kAllGather; }
  std::size_t block_count() const;
  // Whether both request the same collective, even with different schedules.
  bool asks_for_same_as(const Request& other) const {
    return kind == other.kind && op == other.op && dtype == other.dtype && ranks == other.ranks && root == other.root;
  }
  // Whether the rank's input is part of the chunk's result.
  bool contributes(int rank, std::size_t chunk) const;
  // Whether the rank gets the chunk's result.
  bool receives(int rank, std::size_t chunk) const;
  // The chunk of element `at` < `length` of a whole buffer.
  ChunkPlace chunk_at(std::size_t length, std::size_t at) const;
  // The elements of a chunk in a whole buffer of `length`; possibly none.
  Range chunk_range(std::size_t length, std::size_t chunk) const;
  // How many elements earlier a chunk begins in a rank's input, or output, than in the whole buffer of `length`.
  std::size_t input_shift(std::size_t length, std::size_t chunk) const;
  std::size_t output_shift(std::size_t length, std::size_t chunk) const;

 private:
  std::size_t block_of(std::size_t chunk) const { return chunk / (chunk_count / block_count()); }
};

}  // namespace coll

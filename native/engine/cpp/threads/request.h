#pragma once

#include <cstddef>
#include <cstdint>

#include "../kernels/dtype.h"

namespace coll {

// The collectives, numbered as in @coll/core.
enum class Kind : std::uint8_t { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter };
constexpr int kKindCount = 5;

constexpr int kMostRanks = 4096;

// Where a chunk lies in a buffer.
struct ChunkPlace {
  std::size_t index;
  std::size_t end;
};

// Elements from `begin` up to, but without, `end`.
struct Range {
  std::size_t begin;
  std::size_t end;
};

// What is asked for, and into how many chunks a schedule cuts it.
struct Request {
  Kind kind;
  Op op;
  DType dtype;
  int ranks;
  int root;
  std::size_t chunk_count;

  // Whether values are only moved, and bits therefore kept.
  bool moves() const { return kind == Kind::kBroadcast || kind == Kind::kAllGather; }
  // Whether the whole buffer is one block a rank, of which a rank's input (all-gather) or output (reduce-scatter) is one.
  bool has_blocks() const { return kind == Kind::kAllGather || kind == Kind::kReduceScatter; }
  bool reads(int rank) const { return kind != Kind::kBroadcast || rank == root; }
  bool writes(int rank) const { return kind != Kind::kReduce || rank == root; }
  // Whatever their schedules are.
  bool asks_for_same_as(const Request& other) const {
    return kind == other.kind && op == other.op && dtype == other.dtype && ranks == other.ranks && root == other.root;
  }
  int owner_of(std::size_t chunk) const;
  // Whether the rank's input is part of the chunk's result.
  bool contributes(int rank, std::size_t chunk) const;
  // Whether the rank gets the chunk's result.
  bool receives(int rank, std::size_t chunk) const;
  // The chunk of element `at` < `length` of a whole buffer.
  ChunkPlace chunk_at(std::size_t length, std::size_t at) const;
  // The elements of a chunk in a whole buffer of `length`; possibly none.
  Range chunk_range(std::size_t length, std::size_t chunk) const;
};

}  // namespace coll

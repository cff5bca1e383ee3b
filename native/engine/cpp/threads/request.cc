#include "request.h"

#include <algorithm>

#include "words.h"

namespace coll {

Request take_request(WordReader& reader) {
  Request request{};
  request.kind = static_cast<Kind>(reader.take("kind", 0, kKindCount - 1));
  request.op = static_cast<Op>(reader.take("op", 0, kOpCount - 1));
  request.dtype = static_cast<DType>(reader.take("dtype", 0, kDTypeCount - 1));
  request.ranks = reader.take("number of ranks", 1, kMostRanks);
  request.root = reader.take("root", 0, request.ranks - 1);
  return request;
}

std::size_t Request::block_count() const {
  if (!has_blocks()) return 1;
  const std::size_t blocks = static_cast<std::size_t>(ranks);
  return kind == Kind::kAllToAll ? blocks * blocks : blocks;
}

bool Request::contributes(int rank, std::size_t chunk) const {
  if (!has_block_in()) return reads(rank);
  const std::size_t block = block_of(chunk);
  return static_cast<std::size_t>(rank) == (kind == Kind::kAllToAll ? block / static_cast<std::size_t>(ranks) : block);
}

bool Request::receives(int rank, std::size_t chunk) const {
  if (!has_block_out()) return writes(rank);
  const std::size_t block = block_of(chunk);
  return static_cast<std::size_t>(rank) == (kind == Kind::kAllToAll ? block % static_cast<std::size_t>(ranks) : block);
}

std::size_t Request::input_shift(std::size_t length, std::size_t chunk) const {
  if (!has_block_in()) return 0;
  const std::size_t block = block_of(chunk);
  const std::size_t first = kind == Kind::kAllToAll ? block - block % static_cast<std::size_t>(ranks) : block;
  return length / block_count() * first;
}

std::size_t Request::output_shift(std::size_t length, std::size_t chunk) const {
  if (!has_block_out()) return 0;
  const std::size_t block = block_of(chunk);
  const std::size_t ahead = kind == Kind::kAllToAll ? block - block / static_cast<std::size_t>(ranks) : block;
  return length / block_count() * ahead;
}

ChunkPlace Request::chunk_at(std::size_t length, std::size_t at) const {
  if (chunk_count == 1) return {0, length};
  const std::size_t blocks = block_count();
  const std::size_t block = length / blocks;
  const std::size_t pieces = chunk_count / blocks;
  const std::size_t piece = (block + pieces - 1) / pieces;
  const std::size_t owner = at / block;
  const std::size_t index = (at - owner * block) / piece;
  return {owner * pieces + index, std::min(owner * block + (index + 1) * piece, (owner + 1) * block)};
}

Range Request::chunk_range(std::size_t length, std::size_t chunk) const {
  const std::size_t blocks = block_count();
  const std::size_t block = length / blocks;
  const std::size_t pieces = chunk_count / blocks;
  const std::size_t piece = (block + pieces - 1) / pieces;
  const std::size_t owner = chunk / pieces;
  const std::size_t index = chunk - owner * pieces;
  return {owner * block + std::min(index * piece, block), owner * block + std::min((index + 1) * piece, block)};
}

}  // namespace coll

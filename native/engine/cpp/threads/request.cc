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

int Request::owner_of(std::size_t chunk) const {
  return static_cast<int>(chunk / (chunk_count / static_cast<std::size_t>(ranks)));
}

bool Request::contributes(int rank, std::size_t chunk) const {
  return kind == Kind::kAllGather ? rank == owner_of(chunk) : reads(rank);
}

bool Request::receives(int rank, std::size_t chunk) const {
  return kind == Kind::kReduceScatter ? rank == owner_of(chunk) : writes(rank);
}

ChunkPlace Request::chunk_at(std::size_t length, std::size_t at) const {
  if (chunk_count == 1) return {0, length};
  const std::size_t blocks = has_blocks() ? static_cast<std::size_t>(ranks) : 1;
  const std::size_t block = length / blocks;
  const std::size_t pieces = chunk_count / blocks;
  const std::size_t piece = (block + pieces - 1) / pieces;
  const std::size_t owner = at / block;
  const std::size_t index = (at - owner * block) / piece;
  return {owner * pieces + index, std::min(owner * block + (index + 1) * piece, (owner + 1) * block)};
}

Range Request::chunk_range(std::size_t length, std::size_t chunk) const {
  const std::size_t blocks = has_blocks() ? static_cast<std::size_t>(ranks) : 1;
  const std::size_t block = length / blocks;
  const std::size_t pieces = chunk_count / blocks;
  const std::size_t piece = (block + pieces - 1) / pieces;
  const std::size_t owner = chunk / pieces;
  const std::size_t index = chunk - owner * pieces;
  return {owner * block + std::min(index * piece, block), owner * block + std::min((index + 1) * piece, block)};
}

}  // namespace coll

#pragma once

#include <cstdint>
#include <vector>

#include "threads/program.h"

// Programs for tests, as words.
namespace coll::test {

using Words = std::vector<std::int32_t>;

inline Words head(Kind kind, Op op, DType dtype, int ranks, int root, int chunks) {
  return {static_cast<int>(kind), static_cast<int>(op), static_cast<int>(dtype), ranks, root, chunks};
}

inline Request request_of(Kind kind) {
  Request request{};
  request.kind = kind;
  return request;
}

inline bool moves(Kind kind) { return request_of(kind).moves(); }

// One chunk per rank; for all-to-all one per pair of ranks.
inline int chunks_of(Kind kind, int ranks) { return kind == Kind::kAllToAll ? ranks * ranks : ranks; }

// The rank that holds a chunk of a move at first; `in_block` chunks make a block.
inline int source_of(Kind kind, int chunk, int ranks, int root, int in_block = 1) {
  if (kind == Kind::kBroadcast || kind == Kind::kScatter) return root;
  return chunk / in_block / (kind == Kind::kAllToAll ? ranks : 1);
}

// Combines every chunk in the order of ranks that begins at the chunk's number, as around a ring.
inline Words chains(Kind kind, Op op, DType dtype, int ranks, int root = 0) {
  const int chunks = chunks_of(kind, ranks);
  Words words = head(kind, op, dtype, ranks, root, chunks);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    if (moves(kind)) {
      words.insert(words.end(), {1, 1, source_of(kind, chunk, ranks, root)});
      continue;
    }
    words.insert(words.end(), {1, ranks});
    for (int i = 0; i < ranks; ++i) words.push_back((chunk + i) % ranks);
  }
  return words;
}

// An all-reduce with the arithmetic of `chains`, as steps: into the chunk's first rank, and from
// there to all ranks.
inline Words steps(Op op, DType dtype, int ranks) {
  Words words = head(Kind::kAllReduce, op, dtype, ranks, 0, ranks);
  for (int chunk = 0; chunk < ranks; ++chunk) {
    words.insert(words.end(), {0, ranks == 1 ? 0 : 2 * (ranks - 1)});
    for (int i = 1; i < ranks; ++i) words.insert(words.end(), {chunk, 2, chunk, (chunk + i) % ranks});
    for (int i = 1; i < ranks; ++i) words.insert(words.end(), {(chunk + i) % ranks, 1, chunk});
  }
  return words;
}

inline Program parse(const Words& words) { return parse_program(words.data(), words.size()); }

}  // namespace coll::test

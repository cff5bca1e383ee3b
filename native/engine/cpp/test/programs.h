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

// Every chunk is combined in the order of ranks that begins at its own number, as around a ring.
inline Words chains(Kind kind, Op op, DType dtype, int ranks, int root = 0) {
  Words words = head(kind, op, dtype, ranks, root, ranks);
  for (int chunk = 0; chunk < ranks; ++chunk) {
    if (kind == Kind::kBroadcast || kind == Kind::kAllGather) {
      words.insert(words.end(), {1, 1, kind == Kind::kBroadcast ? root : chunk});
      continue;
    }
    words.insert(words.end(), {1, ranks});
    for (int i = 0; i < ranks; ++i) words.push_back((chunk + i) % ranks);
  }
  return words;
}

// The same arithmetic as `chains`, all-reduce only, in steps: into the chunk's first rank, and from there to everyone.
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

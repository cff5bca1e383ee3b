#pragma once

#include <cstdlib>
#include <cstring>

namespace coll::test {

// Whether COLL_TEST_GRID=short is set, which omits cases that differ only in their numbers:
// sanitizers and emulators take ten times as long.
inline bool is_short() {
  const char* grid = std::getenv("COLL_TEST_GRID");
  return grid != nullptr && std::strcmp(grid, "short") == 0;
}

}  // namespace coll::test

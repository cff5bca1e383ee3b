#pragma once

#include <cstdlib>
#include <cstring>

namespace coll::test {

// Sanitizers and emulators take ten times as long: COLL_TEST_GRID=short leaves out what differs only in its numbers.
inline bool is_short() {
  const char* grid = std::getenv("COLL_TEST_GRID");
  return grid != nullptr && std::strcmp(grid, "short") == 0;
}

}  // namespace coll::test

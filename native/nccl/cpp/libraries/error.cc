#include "../error.h"

namespace coll {

const char* name_of(FailureKind kind) {
  static constexpr const char* kNames[] = {"invalid-argument", "out-of-memory", "no-library", "cuda",  "nccl",   "timeout",
                                           "aborted",          "broken",        "spoiled",    "stuck", "closed", "machine"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace coll

#pragma once

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace coll {

// Whether this processor has the instructions of crc32c_instructions.cc. Apart from the others, whose
// names older compilers of the fuzzers do not know.
inline bool has_crc32c() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2");
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kCrcInstructions = 1ul << 7;
  return (getauxval(AT_HWCAP) & kCrcInstructions) != 0;
#else
  return false;
#endif
}

}  // namespace coll

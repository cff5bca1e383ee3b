#pragma once

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace coll {

// Whether this processor has the instructions of avx2.cc, avx512.cc and crc32c_instructions.cc. The build uses this as
// well: see tools/processor.cc.
#if defined(__x86_64__)
inline bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"); }

inline bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#else
inline bool has_avx2() { return false; }
inline bool has_avx512() { return false; }
#endif

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

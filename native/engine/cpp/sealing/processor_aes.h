#pragma once

#if defined(__linux__)

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace coll {

// Whether this processor has instructions for AES and for the multiplication of GCM.
inline bool has_aes() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kMultiplication = 1u << 1;
  constexpr unsigned kAesInstructions = 1u << 25;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kMultiplication) != 0 && (c & kAesInstructions) != 0;
#elif defined(__aarch64__)
  constexpr unsigned long kAesInstructions = 1ul << 3;
  constexpr unsigned long kMultiplication = 1ul << 4;
  const unsigned long features = getauxval(AT_HWCAP);
  return (features & kAesInstructions) != 0 && (features & kMultiplication) != 0;
#else
  return false;
#endif
}

}  // namespace coll

#endif

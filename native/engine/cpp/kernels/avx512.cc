#if defined(__AVX512BW__)
#include "make_kernels.h"
#else
#include "kernels.h"
#endif

namespace coll {

const Kernels* avx512_kernels() {
#if defined(__AVX512BW__)
  static constexpr Kernels kKernels = make_kernels("avx512");
  return &kKernels;
#else
  return nullptr;
#endif
}

}  // namespace coll

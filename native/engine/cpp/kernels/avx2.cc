#if defined(__AVX2__)
#include "make_kernels.h"
#else
#include "kernels.h"
#endif

namespace coll {

const Kernels* avx2_kernels() {
#if defined(__AVX2__)
  static constexpr Kernels kKernels = make_kernels("avx2");
  return &kKernels;
#else
  return nullptr;
#endif
}

}  // namespace coll

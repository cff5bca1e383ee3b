#include "make_kernels.h"

namespace coll {

const Kernels* baseline_kernels() {
#if defined(__ARM_NEON)
  static constexpr Kernels kKernels = make_kernels("neon");
#else
  static constexpr Kernels kKernels = make_kernels("scalar");
#endif
  return &kKernels;
}

}  // namespace coll

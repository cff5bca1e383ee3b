#include "kernels_text.h"

namespace coll {

const char* kernels_text() {
  static constexpr const char kText[] =
#include "kernels_ptx.inc"
      ;
  return kText;
}

}  // namespace coll

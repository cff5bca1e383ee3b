#include "kernels_text.h"

namespace coll {

const char* kernels_text() {
  static constexpr const char kText[] =
#include "kernels_ptx.inc"
      ;
  return kText;
}

#define COLL_COMBINE(name, T) "coll_combine_" #name,
#define COLL_DIVIDE(name, Into, From) "coll_divide_" #name,

std::vector<const char*> kernel_names() {
  return {
#include "instances.inc"
      "coll_copy_pieces",
      "coll_copy_few",
  };
}

#undef COLL_COMBINE
#undef COLL_DIVIDE

}  // namespace coll

#pragma once

#include <vector>

namespace coll {

// The kernels of kernels.cu as PTX, which drivers compile for whatever GPU there is.
const char* kernels_text();
// The kernels that it has.
std::vector<const char*> kernel_names();

}  // namespace coll

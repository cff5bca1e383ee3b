#pragma once

#include <vector>

namespace coll {

// The kernels of kernels.cu as PTX, which drivers compile for the GPU in use.
const char* kernels_text();
// The kernels that it has.
std::vector<const char*> kernel_names();

}  // namespace coll

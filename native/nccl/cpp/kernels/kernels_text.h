#pragma once

namespace coll {

// The kernels of kernels.cu as PTX, which drivers compile for whatever GPU there is.
const char* kernels_text();

}  // namespace coll

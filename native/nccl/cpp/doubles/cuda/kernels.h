#pragma once

#include <functional>
#include <string>

namespace coll::doubles {

// Runs a kernel of kernels.cu with its arguments.
using Launch = std::function<void(unsigned blocks, unsigned threads)>;

// Copies the arguments, as a launch does. Empty if there is no kernel of this name.
Launch launch_of(const std::string& name, void** arguments);
bool has_kernel(const std::string& name);

}  // namespace coll::doubles

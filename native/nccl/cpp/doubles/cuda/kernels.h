#pragma once

#include <functional>
#include <string>

namespace coll::doubles {

// Runs a kernel of kernels.cu with the arguments that it was made with.
using Launch = std::function<void(unsigned blocks, unsigned threads)>;

// Copies the arguments, as a launch does. Empty for a name that is none of ours.
Launch launch_of(const std::string& name, void** arguments);
bool has_kernel(const std::string& name);

}  // namespace coll::doubles

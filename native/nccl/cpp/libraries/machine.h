#pragma once

#include <string>

// The requirements of NCCL on the machine besides the driver. Containers often lack some of them,
// and NCCL then reports "unhandled system error".
namespace coll::nccl {

// Loads NVML from a file or, if `file` is empty, from the loader's path, so that NCCL finds it.
// Throws an Error that says what to do.
void require_nvml(const std::string& file);

// What to do about a failure with this message of NCCL; empty if the machine is not the cause.
std::string advice_for_machine(const std::string& said);

}  // namespace coll::nccl

#pragma once

#include <string>

// What NCCL needs of the machine besides the driver. Containers often lack it, and NCCL then says "unhandled system error".
namespace coll::nccl {

// Loads NVML, from a file or, if that is empty, from the loader's path; NCCL finds it then. Throws an Error that says what to do.
void require_nvml(const std::string& file);

// What to do about a failure of which NCCL says this; empty where the machine is not to blame.
std::string cure_of_machine(const std::string& said);

}  // namespace coll::nccl

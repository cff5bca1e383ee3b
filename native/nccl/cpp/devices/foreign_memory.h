#pragma once

#include <vector>

#include "allocation.h"

namespace coll {

// Takes memory of another library for an allocation. Throws where it is not memory of the device, from the pointer to the last byte.
void adopt(const cuda::Driver& driver, const Device& device, cuda::Pointer pointer, Allocation& into);

// NCCL lets the GPUs of a process access each other's buffers directly. Throws where one of them may not; only memory of the virtual-memory API is asked for.
void require_open_to(const cuda::Driver& driver, const Allocation& allocation, const std::vector<int>& devices);

}  // namespace coll

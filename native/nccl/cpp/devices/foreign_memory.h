#pragma once

#include <vector>

#include "allocation.h"

namespace coll {

// Uses memory of another library as an allocation. Throws unless all of it is memory of the device.
void adopt(const cuda::Driver& driver, const Device& device, cuda::Pointer pointer, Allocation& into);

// NCCL lets the GPUs of a process access each other's buffers directly. Throws if one of them lacks
// access; checked only for memory of the virtual-memory API.
void require_open_to(const cuda::Driver& driver, const Allocation& allocation, const std::vector<int>& devices);

}  // namespace coll

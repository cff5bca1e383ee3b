#pragma once

#include <string>
#include <vector>

#include "buffer_operations.h"

namespace coll {

constexpr int kMostInputs = 64;

// One of many copies, between two addresses.
struct PieceCopy {
  DeviceAddress into;
  DeviceAddress from;
  std::size_t bytes;
};

// The name in kernels of a dtype, which is given by NCCL's number, and its size. Both throw for
// other numbers.
const char* dtype_name(int dtype);
std::size_t dtype_bytes(int dtype);

// into = from / divisor; `kernel` is the name of coll_divide's instance.
SharedOperation divide(Runtime& runtime, const DeviceAddress& into, int into_dtype, const DeviceAddress& from, int from_dtype, std::size_t count, double divisor);
// into = inputs[0] op inputs[1] …
SharedOperation combine(Runtime& runtime, const DeviceAddress& into, const std::vector<DeviceAddress>& inputs, int dtype, int op, std::size_t count);
// Copies all pieces in one launch.
SharedOperation copy_pieces(Runtime& runtime, const std::vector<PieceCopy>& pieces);

}  // namespace coll

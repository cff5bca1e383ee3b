#pragma once

#include <cstddef>
#include <vector>

namespace coll::doubles {

using Bytes = std::vector<char>;

// The size of an element; 0 if NCCL has no such dtype.
std::size_t bytes_of(int dtype);

// The inputs' elements, combined in the order of the ranks and rounded after each step.
Bytes reduced(const std::vector<Bytes>& inputs, int dtype, int op);

}  // namespace coll::doubles

#pragma once
// The features of CUDA C++ that C++ lacks, to run the kernels on a CPU: each thread of each block
// in turn.

struct Coordinates {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

inline thread_local Coordinates blockIdx;
inline thread_local Coordinates threadIdx;
inline thread_local Coordinates blockDim;
inline thread_local Coordinates gridDim;

#define __global__ static

#pragma once

#include <cstddef>

#include "../../../engine/cpp/kernels/dtype.h"

namespace coll {

// One of this addon's reductions, for MPI_Op_create: inout[i] = in[i] op inout[i].
using Reduction = void (*)(void* in, void* inout, int* count, void* type);

// This addon's reduction for a dtype and op that MPI's own does not serve: half types, which are
// combined in float32 and rounded at each step; minima and maxima of floats, which propagate NaN
// and order -0 below 0; minima and maxima of integers, which MPICH 4.0 treats as signed; sums and
// products of 8 and 16 bits, which Open MPI 4.1 saturates; bools. Null for all others.
Reduction own_reduction(DType dtype, Op op);
// Sums and products of floats with the same NaN on all ranks; null for other types. MPI's own ones leave the NaN to the
// processor, which takes it from either operand, but MPICH has its best algorithms for them only.
Reduction one_nan_reduction(DType dtype, Op op);

// into[i] = from[i] / divisor, for floats. `into` may be `from`.
void divide(DType dtype, void* into, const void* from, std::size_t count, int divisor);

// Converts elements to accumulators of a mean: half types to float32, integers to `result_of(dtype,
// Op::kMean)`.
void widen(DType dtype, void* into, const void* from, std::size_t count);
// Divides float32 values, then rounds them to half types.
void narrow(DType dtype, void* into, const float* from, std::size_t count, int divisor);

}  // namespace coll

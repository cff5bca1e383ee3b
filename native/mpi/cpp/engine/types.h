#pragma once

#include "../libraries/mpi.h"
#include "plan.h"

namespace coll {

// MPI's handles for dtypes and for the reductions of each dtype.
class Types {
 public:
  explicit Types(Mpi& mpi);

  MpiHandle type(DType dtype) const { return types_[static_cast<int>(dtype)]; }
  // A mean is a sum here.
  MpiHandle op(DType dtype, Op op) const { return ops_[static_cast<int>(dtype)][static_cast<int>(op)]; }

 private:
  MpiHandle types_[kDTypeCount];
  MpiHandle ops_[kDTypeCount][kOpCount];
};

}  // namespace coll

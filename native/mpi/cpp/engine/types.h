#pragma once

#include "../libraries/mpi.h"
#include "plan.h"

namespace coll {

// Up to this number of elements, libraries use the same algorithm for all reductions, so that all
// ranks get the same NaN.
constexpr std::size_t kFewElements = 512;

// MPI's handles for dtypes and for the reductions of each dtype.
class Types {
 public:
  explicit Types(Mpi& mpi);

  MpiHandle type(DType dtype) const { return types_[static_cast<int>(dtype)]; }
  // The reduction for `count` elements. A mean is a sum here.
  MpiHandle op(DType dtype, Op op, std::size_t count) const {
    const auto& ops = count <= kFewElements ? few_ops_ : ops_;
    return ops[static_cast<int>(dtype)][static_cast<int>(op)];
  }

 private:
  MpiHandle types_[kDTypeCount];
  MpiHandle ops_[kDTypeCount][kOpCount];
  MpiHandle few_ops_[kDTypeCount][kOpCount];
};

}  // namespace coll

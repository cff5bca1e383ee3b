#include "types.h"

#include "../reductions/reductions.h"

namespace coll {
namespace {

constexpr MpiType kTypes[kDTypeCount] = {MpiType::kUint16, MpiType::kUint16, MpiType::kFloat32, MpiType::kFloat64, MpiType::kInt8,
                                         MpiType::kInt16,  MpiType::kInt32,  MpiType::kInt64,   MpiType::kUint8,   MpiType::kUint16,
                                         MpiType::kUint32, MpiType::kUint64, MpiType::kUint8};
constexpr MpiOp kOps[kOpCount] = {MpiOp::kSum, MpiOp::kSum, MpiOp::kMin, MpiOp::kMax, MpiOp::kProduct};

}  // namespace

Types::Types(Mpi& mpi) {
  for (int i = 0; i < kDTypeCount; ++i) {
    types_[i] = mpi.type(kTypes[i]);
    for (int j = 0; j < kOpCount; ++j) {
      const auto op = static_cast<Op>(j);
      if (op == Op::kMean) {
        ops_[i][j] = ops_[i][static_cast<int>(Op::kSum)];
        few_ops_[i][j] = few_ops_[i][static_cast<int>(Op::kSum)];
        continue;
      }
      const Reduction own = own_reduction(static_cast<DType>(i), op);
      ops_[i][j] = own == nullptr ? mpi.op(kOps[j]) : mpi.create_op(own);
      const Reduction one_nan = own == nullptr ? one_nan_reduction(static_cast<DType>(i), op) : nullptr;
      few_ops_[i][j] = one_nan == nullptr ? ops_[i][j] : mpi.create_op(one_nan);
    }
  }
}

}  // namespace coll

#pragma once

#include <vector>

#include "../libraries/mpi.h"
#include "plan.h"
#include "types.h"

namespace coll {

// Memory of a group that its calls use one after the other. It grows as needed.
struct Scratch {
  std::vector<std::byte> input;
  std::vector<std::byte> output;
};

// Transfers the data of one call. Joins buffers in several segments; other buffers are passed to
// MPI where they are. Long buffers of all-reduce, reduce and broadcast are passed in several calls,
// because MPI counts in 32 bits.
class Transfer {
 public:
  // Prepares the buffers of the call, and copies those that cannot be passed as they are.
  void prepare(const Plan& plan, int rank, int size, Scratch& scratch);
  // Starts MPI's next call. False if none is left.
  bool start_next(Mpi& mpi, const Types& types, MpiHandle comm, MpiRequest& request);
  // After the last call of MPI: divides means and copies results to their final memory.
  void finish();

 private:
  void prepare_reduction(Scratch& scratch);
  void prepare_broadcast(Scratch& scratch);
  void prepare_blocks(Scratch& scratch);
  void run_alone();
  bool is_converted() const { return dtype_ != plan_->dtype; }
  bool reads() const { return !(plan_->kind == Kind::kBroadcast || plan_->kind == Kind::kScatter) || plan_->root == rank_; }
  bool writes() const { return !(plan_->kind == Kind::kReduce || plan_->kind == Kind::kGather) || plan_->root == rank_; }

  const Plan* plan_ = nullptr;
  int rank_ = 0;
  int size_ = 1;
  const void* from_ = nullptr;
  std::byte* into_ = nullptr;
  // The dtype that is transferred. For a mean of integers it is the dtype of the result, so that
  // their sum does not wrap around.
  DType dtype_ = DType::kFloat32;
  std::size_t begun_ = 0;
  std::size_t count_ = 0;
  bool is_begun_ = false;
};

}  // namespace coll

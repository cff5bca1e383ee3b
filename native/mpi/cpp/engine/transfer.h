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

// Moves the data of one call: buffers in several segments are joined, all else is passed to MPI where it is. Long
// buffers of all-reduce, reduce and broadcast are passed in several calls, because MPI counts in 32 bits.
class Transfer {
 public:
  // Takes the memory of the call, and copies what cannot be passed as it is.
  void prepare(const Plan& plan, int rank, int size, Scratch& scratch);
  // Starts MPI's next call. False if none is left.
  bool start_next(Mpi& mpi, const Types& types, MpiHandle comm, MpiRequest& request);
  // Divides means and copies results to where they belong, once no call is left.
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
  // The dtype on the wire. That of the result for the mean of integers, so that their sum does not wrap around.
  DType dtype_ = DType::kFloat32;
  std::size_t begun_ = 0;
  std::size_t count_ = 0;
  bool is_begun_ = false;
};

}  // namespace coll

#include "transfer.h"

#include <algorithm>
#include <cstring>

#include "../error.h"
#include "../reductions/reductions.h"

namespace coll {
namespace {

// The most elements per call: below the limit of MPI's counts, and a power of two.
constexpr std::size_t kMostCount = std::size_t{1} << 30;
constexpr std::size_t kMostBlock = (std::size_t{1} << 31) - 1;

std::size_t bytes_of(const std::vector<Segment>& segments) {
  std::size_t bytes = 0;
  for (const Segment& segment : segments) bytes += segment.bytes;
  return bytes;
}

std::byte* room(std::vector<std::byte>& memory, std::size_t bytes) {
  if (memory.size() < bytes) memory.resize(bytes);
  return memory.data();
}

void join(std::byte* into, const std::vector<Segment>& segments) {
  for (const Segment& segment : segments) {
    if (segment.bytes > 0) std::memmove(into, segment.data, segment.bytes);
    into += segment.bytes;
  }
}

void separate(const std::vector<Segment>& segments, const std::byte* from) {
  for (const Segment& segment : segments) {
    if (segment.bytes > 0 && segment.data != from) std::memmove(segment.data, from, segment.bytes);
    from += segment.bytes;
  }
}

}  // namespace

void Transfer::prepare(const Plan& plan, int rank, int size, Scratch& scratch) {
  plan_ = &plan;
  rank_ = rank;
  size_ = size;
  from_ = nullptr;
  into_ = nullptr;
  dtype_ = plan.is_wide && is_half(plan.dtype) ? DType::kFloat32 : result_of(plan.dtype, plan.op);
  begun_ = 0;
  count_ = plan.count;
  is_begun_ = false;
  switch (plan.kind) {
    case Kind::kAllReduce:
    case Kind::kReduce:
      return prepare_reduction(scratch);
    case Kind::kBroadcast:
      return prepare_broadcast(scratch);
    default:
      return prepare_blocks(scratch);
  }
}

void Transfer::prepare_reduction(Scratch& scratch) {
  const bool is_whole = plan_->inputs.size() == 1 && plan_->outputs.size() == 1;
  if (!writes()) {
    // A rank without a result only sends its input.
    if (plan_->inputs.size() == 1 && !is_converted()) {
      from_ = plan_->inputs[0].data;
      return;
    }
  } else if (is_whole && !is_converted()) {
    into_ = plan_->outputs[0].data;
    from_ = plan_->inputs[0].data == into_ ? kInPlace : plan_->inputs[0].data;
    return;
  }
  std::byte* const work = room(scratch.input, count_ * byte_size(dtype_));
  if (is_converted()) {
    std::byte* into = work;
    for (const Segment& segment : plan_->inputs) {
      const std::size_t count = segment.bytes / byte_size(plan_->dtype);
      widen(plan_->dtype, into, segment.data, count);
      into += count * byte_size(dtype_);
    }
  } else {
    join(work, plan_->inputs);
  }
  into_ = writes() ? work : nullptr;
  from_ = writes() ? kInPlace : work;
}

void Transfer::prepare_broadcast(Scratch& scratch) {
  const auto& own = reads() ? plan_->inputs : plan_->outputs;
  if (own.size() == 1) {
    into_ = own[0].data;
    return;
  }
  into_ = room(scratch.input, bytes_of(own));
  if (reads()) join(into_, own);
}

void Transfer::prepare_blocks(Scratch& scratch) {
  if (count_ > kMostBlock) {
    throw Error(ErrorKind::kInvalidArgument, "MPI moves at most 2147483647 elements per rank in one call of this kind, got " + std::to_string(count_));
  }
  const std::size_t block = count_ * byte_size(plan_->dtype);
  std::byte* const input = plan_->inputs[0].data;
  std::byte* const output = plan_->outputs[0].data;
  from_ = input;
  into_ = output;
  const std::size_t own = block * static_cast<std::size_t>(rank_);
  switch (plan_->kind) {
    case Kind::kAllGather:
      if (input == output + own) from_ = kInPlace;
      return;
    case Kind::kGather:
      if (writes() && input == output + own) from_ = kInPlace;
      return;
    case Kind::kScatter:
      if (reads() && output == input + own) into_ = static_cast<std::byte*>(const_cast<void*>(kInPlace));
      return;
    case Kind::kReduceScatter: {
      const std::size_t whole = block * static_cast<std::size_t>(size_);
      const bool overlaps = output < input + whole && input < output + block;
      if (is_converted()) {
        const std::size_t all = count_ * static_cast<std::size_t>(size_);
        std::byte* const work = room(scratch.input, all * byte_size(dtype_));
        widen(plan_->dtype, work, input, all);
        from_ = work;
      }
      if (overlaps || is_converted()) into_ = room(scratch.output, count_ * byte_size(dtype_));
      return;
    }
    default:
      return;
  }
}

bool Transfer::start_next(Mpi& mpi, const Types& types, MpiHandle comm, MpiRequest& request) {
  const bool is_long = plan_->kind == Kind::kAllReduce || plan_->kind == Kind::kReduce || plan_->kind == Kind::kBroadcast;
  if (size_ == 1) {
    if (!is_begun_) run_alone();
    is_begun_ = true;
    return false;
  }
  if (count_ == 0 || begun_ == count_) return false;
  const int count = static_cast<int>(is_long ? std::min(count_ - begun_, kMostCount) : count_);
  const std::size_t offset = begun_ * byte_size(dtype_);
  const void* const from = from_ == kInPlace || from_ == nullptr ? from_ : static_cast<const std::byte*>(from_) + offset;
  void* const into = into_ == nullptr || into_ == kInPlace ? into_ : into_ + offset;
  const MpiHandle type = types.type(dtype_);
  const MpiHandle op = types.op(dtype_, plan_->op, count_);
  begun_ += static_cast<std::size_t>(count);
  switch (plan_->kind) {
    case Kind::kAllReduce:
      mpi.prepare_all_reduce(static_cast<std::size_t>(count) * byte_size(dtype_));
      mpi.iall_reduce(from, into, count, type, op, comm, request);
      return true;
    case Kind::kReduce:
      mpi.ireduce(from, into, count, type, op, plan_->root, comm, request);
      return true;
    case Kind::kBroadcast:
      mpi.ibroadcast(into, count, type, plan_->root, comm, request);
      return true;
    case Kind::kAllGather:
      mpi.iall_gather(from, into, count, type, comm, request);
      return true;
    case Kind::kGather:
      mpi.igather(from, into, count, type, plan_->root, comm, request);
      return true;
    case Kind::kScatter:
      mpi.iscatter(from, into, count, type, plan_->root, comm, request);
      return true;
    case Kind::kReduceScatter:
      mpi.ireduce_scatter(from, into, count, type, op, comm, request);
      return true;
    case Kind::kAllToAll:
      mpi.iall_to_all(from, into, count, type, comm, request);
      return true;
  }
  return false;
}

// A group of one rank needs no MPI, which refuses to copy memory to itself.
void Transfer::run_alone() {
  if (plan_->kind == Kind::kAllReduce || plan_->kind == Kind::kReduce || plan_->kind == Kind::kBroadcast) {
    if (from_ != kInPlace && from_ != nullptr && into_ != nullptr) std::memmove(into_, from_, count_ * byte_size(dtype_));
    return;
  }
  if (from_ == kInPlace || into_ == kInPlace || from_ == into_ || count_ == 0) return;
  std::memmove(into_, from_, count_ * byte_size(dtype_));
}

void Transfer::finish() {
  if (!writes() || count_ == 0) return;
  const auto& outputs = plan_->outputs;
  if (plan_->kind == Kind::kBroadcast) {
    if (plan_->inputs.size() == 1 && outputs.size() == 1 && reads() && plan_->inputs[0].data == outputs[0].data) return;
    return separate(outputs, into_);
  }
  const bool combines = plan_->kind == Kind::kAllReduce || plan_->kind == Kind::kReduce || plan_->kind == Kind::kReduceScatter;
  if (!combines) return;
  const int divisor = plan_->is_mean() ? size_ : 1;
  if (is_half(plan_->dtype) && is_converted()) {
    const auto* sums = reinterpret_cast<const float*>(into_);
    for (const Segment& segment : outputs) {
      narrow(plan_->dtype, segment.data, sums, segment.bytes / 2, divisor);
      sums += segment.bytes / 2;
    }
    return;
  }
  if (!plan_->is_mean()) return separate(outputs, into_);
  const std::byte* sums = into_;
  for (const Segment& segment : outputs) {
    divide(dtype_, segment.data, sums, segment.bytes / byte_size(dtype_), divisor);
    sums += segment.bytes;
  }
}

}  // namespace coll

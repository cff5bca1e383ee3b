#pragma once

#include <functional>

#include "../work/operation.h"
#include "../work/runtime.h"
#include "clique.h"

namespace coll {

// Makes NCCL calls on behalf of an operation of a clique, on the submission thread.
class NcclCalls {
 public:
  NcclCalls(Runtime& runtime, const Clique& clique, const Operation& operation) : runtime_(runtime), nccl_(*clique.nccl), clique_(clique), operation_(operation) {}

  // One group around the calls. A group that was begun is ended, whatever happens in it. Throws for what fails.
  void group(const std::function<void()>& calls) const;
  // Throws for a result that is neither success nor "in progress".
  void require(nccl::Result result, nccl::Communicator communicator) const;
  // Waits until a communicator that answered "in progress" is done; throws where it fails, or the operation has failed meanwhile.
  void wait_for(const nccl::Communicator* communicator) const;

 private:
  Runtime& runtime_;
  const nccl::Nccl& nccl_;
  const Clique& clique_;
  const Operation& operation_;
};

}  // namespace coll

#pragma once

#include <functional>

#include "../work/operation.h"
#include "../work/runtime.h"
#include "clique.h"

namespace coll {

// A new operation of a clique.
SharedOperation operation_on(const std::shared_ptr<Clique>& clique, const char* name);

// Makes NCCL calls on behalf of an operation of a clique, on the submission thread.
class NcclCalls {
 public:
  NcclCalls(Runtime& runtime, const Clique& clique, const Operation& operation) : runtime_(runtime), nccl_(*clique.nccl), clique_(clique), operation_(operation) {}

  // One group around the calls. A group that was begun is ended, whatever happens in it. Whether it is done with it: where it says "in progress",
  // the caller waits, as it may of any communicator: the environment can make all of them non-blocking. Throws for what fails.
  bool group(const std::function<void()>& calls) const;
  // The same, and waits for the clique's communicators.
  void whole_group(const std::function<void()>& calls) const;
  // Throws for a result that is neither success nor "in progress".
  void require(nccl::Result result, nccl::Communicator communicator) const;
  // A member's communicator. Throws where an abort has taken it away.
  nccl::Communicator of(const Member& member) const;
  // Whether a communicator that answered "in progress" is done; throws where it fails, or the operation has failed meanwhile.
  bool is_done(const nccl::Communicator* communicator) const;
  // Asks until it is.
  void wait_for(const nccl::Communicator* communicator) const;

 private:
  nccl::Communicator living(const nccl::Communicator* communicator) const;

  Runtime& runtime_;
  const nccl::Nccl& nccl_;
  const Clique& clique_;
  const Operation& operation_;
};

}  // namespace coll

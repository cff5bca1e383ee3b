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

  // Makes the calls in one NCCL group, which is always ended. Returns whether the group is done. If
  // it is still in progress, the caller has to wait, which can happen with any communicator,
  // because the environment can make all of them non-blocking. Throws if a call fails.
  bool group(const std::function<void()>& calls) const;
  // Like group(), and waits until the communicators of the clique are done.
  void whole_group(const std::function<void()>& calls) const;
  // Throws unless the result is success or "in progress".
  void require(nccl::Result result, nccl::Communicator communicator) const;
  // The communicator of a member. Throws if an abort has taken it.
  nccl::Communicator of(const Member& member) const;
  // Whether a communicator that was "in progress" is done. Throws if it has failed, or if the
  // operation has failed meanwhile.
  bool is_done(const nccl::Communicator* communicator) const;
  // Polls until the communicator is done.
  void wait_for(const nccl::Communicator* communicator) const;

 private:
  nccl::Communicator living(const nccl::Communicator* communicator) const;

  Runtime& runtime_;
  const nccl::Nccl& nccl_;
  const Clique& clique_;
  const Operation& operation_;
};

}  // namespace coll

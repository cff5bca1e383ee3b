#include "nccl_calls.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "../tuning.h"

namespace coll {

SharedOperation operation_on(const std::shared_ptr<Clique>& clique, const char* name) {
  auto operation = std::make_shared<Operation>();
  operation->name = name;
  operation->group = clique->name;
  operation->clique = clique;
  return operation;
}

void NcclCalls::require(nccl::Result result, nccl::Communicator communicator) const {
  if (result == nccl::kSuccess || result == nccl::kInProgress) return;
  throw Error(nccl_.failure_of(result, communicator));
}

bool NcclCalls::group(const std::function<void()>& calls) const {
  require(nccl_.group_start(), nullptr);
  std::optional<Error> error;
  try {
    calls();
  } catch (const Error& thrown) {
    error = thrown;
  }
  const nccl::Result ended = nccl_.group_end();
  if (error) throw *error;
  require(ended, nullptr);
  return ended != nccl::kInProgress;
}

void NcclCalls::whole_group(const std::function<void()>& calls) const {
  if (group(calls)) return;
  for (const Member& member : clique_.members) wait_for(&member.communicator);
}

nccl::Communicator NcclCalls::of(const Member& member) const { return living(&member.communicator); }

nccl::Communicator NcclCalls::living(const nccl::Communicator* communicator) const {
  const nccl::Communicator current = __atomic_load_n(communicator, __ATOMIC_ACQUIRE);
  if (current == nullptr) throw Error(FailureKind::kAborted, clique_.name + " was aborted");
  return current;
}

bool NcclCalls::is_done(const nccl::Communicator* communicator) const {
  const nccl::Communicator current = living(communicator);
  if (runtime_.scheduler.has_failed(operation_)) throw Error(FailureKind::kAborted, clique_.name + " was aborted");
  nccl::Result result = nccl::kInProgress;
  require(nccl_.async_error(current, &result), current);
  require(result, current);
  return result == nccl::kSuccess;
}

void NcclCalls::wait_for(const nccl::Communicator* communicator) const {
  auto pause = tuning::kShortestCommunicatorSleep;
  for (int polls = 0; !is_done(communicator); ++polls) {
    if (polls < tuning::kCommunicatorPolls) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, tuning::kLongestCommunicatorSleep);
  }
}

}  // namespace coll

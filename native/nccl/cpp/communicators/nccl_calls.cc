#include "nccl_calls.h"

#include <optional>
#include <thread>

namespace coll {

void NcclCalls::require(nccl::Result result, nccl::Communicator communicator) const {
  if (result == nccl::kSuccess || result == nccl::kInProgress) return;
  const FailureKind kind = result == nccl::kInvalidArgument ? FailureKind::kInvalidArgument : FailureKind::kNccl;
  throw Error({kind, result, nccl_.text_of(result, communicator)});
}

void NcclCalls::group(const std::function<void()>& calls) const {
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
}

void NcclCalls::wait_for(const nccl::Communicator* communicator) const {
  constexpr auto kBetweenLooks = std::chrono::microseconds(200);
  for (;;) {
    const nccl::Communicator current = __atomic_load_n(communicator, __ATOMIC_ACQUIRE);
    nccl::Result result = nccl::kInProgress;
    // An abort takes it away.
    if (runtime_.scheduler.has_failed(operation_) || current == nullptr) {
      throw Error(FailureKind::kAborted, clique_.name + " was aborted");
    }
    require(nccl_.async_error(current, &result), current);
    require(result, current);
    if (result == nccl::kSuccess) return;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace coll

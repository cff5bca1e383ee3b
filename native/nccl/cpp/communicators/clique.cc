#include "clique.h"

#include <thread>

#include "../tuning.h"
#include "../work/scheduler.h"

namespace coll {
namespace {

// A call that is not stuck returns soon, and must still find its communicator. A stuck call returns
// because of the abort.
void give_launch_a_chance(const Clique& clique) {
  for (int poll = 0; poll < tuning::kLaunchPolls && clique.is_launching; ++poll) std::this_thread::sleep_for(tuning::kLaunchInterval);
}

}  // namespace

std::optional<Failure> Clique::async_failure() const {
  for (const Member& member : members) {
    nccl::Result result = nccl::kSuccess;
    const nccl::Communicator communicator = __atomic_load_n(&member.communicator, __ATOMIC_ACQUIRE);
    if (communicator == nullptr || nccl->async_error(communicator, &result) != nccl::kSuccess) continue;
    if (result == nccl::kSuccess || result == nccl::kInProgress) continue;
    Failure failure = nccl->failure_of(result, communicator);
    failure.message = "rank " + std::to_string(member.rank) + ": " + failure.message;
    return failure;
  }
  return std::nullopt;
}

void Clique::abort(Scheduler& scheduler, bool were_counted) {
  aborts = members.size();
  for (std::size_t i = 0; i < members.size(); ++i) {
    std::thread([self = shared_from_this(), i, were_counted, &scheduler] {
      give_launch_a_chance(*self);
      Member& member = self->members[i];
      // Exchanges the pointer atomically, because NCCL may be about to store the communicator.
      const nccl::Communicator communicator = __atomic_exchange_n(&member.communicator, nullptr, __ATOMIC_ACQ_REL);
      if (communicator != nullptr && scheduler.begin_call()) {
        try {
          member.device->enter();
          self->nccl->abort(communicator);
        } catch (const Error&) {
          // Ignores the error, because the GPU has failed.
        }
        scheduler.end_call();
        if (were_counted) --*self->count;
      }
      --self->aborts;
    }).detach();
  }
  std::thread([self = shared_from_this(), &scheduler] {
    self->wait_for_aborts(std::chrono::duration_cast<std::chrono::milliseconds>(scheduler.grace()));
    if (self->aborts == 0) return;
    scheduler.report_stuck("the abort of " + self->name + " does not return; the GPUs of this process can no longer be used: end the process");
  }).detach();
}

void Clique::wait_for_aborts(std::chrono::milliseconds longest) const {
  const auto end = Clock::now() + longest;
  while (aborts > 0 && Clock::now() < end) std::this_thread::sleep_for(tuning::kEndingInterval);
}

std::vector<Member> Clique::take_members() {
  std::vector<Member> taken = members;
  for (Member& member : members) member.communicator = nullptr;
  return taken;
}

}  // namespace coll

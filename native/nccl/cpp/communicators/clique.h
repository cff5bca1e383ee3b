#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../devices/device.h"
#include "../error.h"
#include "../libraries/nccl_library.h"

namespace coll {

class Scheduler;

// One rank of this process.
struct Member {
  int rank;
  Device* device;
  // Created and destroyed on the submission thread, or by an abort.
  nccl::Communicator communicator = nullptr;
};

enum class CliqueState { kMaking, kOpen, kEnding, kClosed, kFailed };

// The ranks of one NCCL communicator that are in this process. Members without a comment are set
// before the clique is shared.
class Clique : public std::enable_shared_from_this<Clique> {
 public:
  std::string name;
  int size = 0;
  bool is_blocking = true;
  const nccl::Nccl* nccl = nullptr;
  std::vector<int> ranks;
  std::vector<int> devices;
  // The number of communicators in the process.
  std::atomic<long>* count = nullptr;
  // Changed on the submission thread; also read by threads that abort or watch.
  std::vector<Member> members;

  // The following are protected by the scheduler's lock.
  CliqueState state = CliqueState::kMaking;
  std::optional<Failure> failure;
  std::uint64_t latest_sequence = 0;

  // The number of aborts under way.
  std::atomic<std::size_t> aborts{0};
  // Whether the submission thread is inside an NCCL call for this clique.
  std::atomic<bool> is_launching{false};

  // A failure that NCCL has found by itself, such as a lost connection; empty if there is none.
  std::optional<Failure> async_failure() const;
  // Aborts all communicators at the same time, each on its own thread, and reports aborts that do
  // not return. `were_counted`: the communicators are included in the process's count.
  void abort(Scheduler& scheduler, bool were_counted);
  // Waits until all aborts have returned, but not longer than `longest`.
  void wait_for_aborts(std::chrono::milliseconds longest) const;
  // Takes the communicators, so that aborts and the watching thread no longer use them.
  std::vector<Member> take_members();
};

}  // namespace coll

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

// One rank of ours.
struct Member {
  int rank;
  Device* device;
  // Made and ended on the submission thread, or by an abort.
  nccl::Communicator communicator = nullptr;
};

enum class CliqueState { kMaking, kOpen, kEnding, kClosed, kFailed };

// The ranks of one NCCL communicator that live in this process. What has no comment is set before the clique is shared.
class Clique : public std::enable_shared_from_this<Clique> {
 public:
  std::string name;
  int size = 0;
  bool is_blocking = true;
  const nccl::Nccl* nccl = nullptr;
  std::vector<int> ranks;
  std::vector<int> devices;
  // The process's count of communicators.
  std::atomic<long>* count = nullptr;
  // On the submission thread, and read by whoever aborts or watches.
  std::vector<Member> members;

  // All below under the scheduler's lock.
  CliqueState state = CliqueState::kMaking;
  std::optional<Failure> failure;
  std::uint64_t latest_sequence = 0;

  // How many aborts are under way.
  std::atomic<std::size_t> aborts{0};
  // The submission thread is inside a call for it.
  std::atomic<bool> is_launching{false};

  // A failure that came by itself, such as a lost connection; undefined where all is well.
  std::optional<Failure> async_failure() const;
  // Aborts all communicators at the same time, each on a thread of its own, and reports those that do not come back. Those that were made
  // completely are in the process's count.
  void abort(Scheduler& scheduler, bool were_counted);
  // Waits until all aborts have come back, or so long.
  void wait_for_aborts(std::chrono::milliseconds longest) const;
  // Takes the communicators away from those who abort and watch.
  std::vector<Member> take_members();
};

}  // namespace coll

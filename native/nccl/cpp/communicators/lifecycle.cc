#include "lifecycle.h"

#include <algorithm>
#include <thread>

#include "nccl_calls.h"

namespace coll {
namespace {

void set_open(Runtime& runtime, Clique& clique) {
  const std::lock_guard<std::mutex> lock(runtime.scheduler.mutex());
  if (clique.state != CliqueState::kMaking) return;
  clique.state = CliqueState::kOpen;
  *clique.count += static_cast<long>(clique.members.size());
}

std::shared_ptr<Clique> part_of(const Clique& parent, std::string name) {
  auto clique = std::make_shared<Clique>();
  clique->name = std::move(name);
  clique->is_blocking = parent.is_blocking;
  clique->nccl = parent.nccl;
  clique->count = parent.count;
  return clique;
}

std::string name_of_part(const std::string& name, int color) { return name + "/" + std::to_string(color); }

// Sorts the communicators that a split has made by color.
std::vector<Part> parts_of(const Clique& parent, const SplitRequest& request, const std::vector<Member>& made) {
  const std::vector<int>& colors = request.colors;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].communicator == nullptr) continue;
    auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.color == colors[i]; });
    if (found == parts.end()) found = parts.insert(parts.end(), {colors[i], part_of(parent, name_of_part(request.name, colors[i])), {}});
    Clique& clique = *found->clique;
    int rank = 0;
    if (parent.nccl->rank(made[i].communicator, &rank) != nccl::kSuccess || parent.nccl->count(made[i].communicator, &clique.size) != nccl::kSuccess) {
      throw Error(FailureKind::kNccl, "NCCL did not return the ranks of a group split from " + parent.name);
    }
    clique.members.push_back({rank, made[i].device, made[i].communicator});
    clique.ranks.push_back(rank);
    clique.devices.push_back(made[i].device->index());
    clique.state = CliqueState::kOpen;
    found->places.push_back(static_cast<int>(i));
  }
  return parts;
}

// While the parent is launching or being aborted, NCCL may still store the communicators of a
// split. So these are aborted, and their memory is freed, only afterwards.
void abort_after(const std::shared_ptr<Clique>& parent, const std::shared_ptr<Clique>& made, Scheduler& scheduler) {
  std::thread([parent, made, &scheduler] {
    const auto is_ending = [&] {
      const std::lock_guard<std::mutex> lock(scheduler.mutex());
      return parent->is_launching || parent->aborts > 0;
    };
    while (is_ending()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    made->abort(scheduler, false);
  }).detach();
}

void split_members(const NcclCalls& calls, const Clique& parent, const SplitRequest& request, std::vector<Member>& made) {
  std::vector<nccl::Config> configs;
  for (const int color : request.colors) {
    configs.push_back(parent.nccl->config_for(name_of_part(request.name, color), parent.is_blocking));
    if (request.is_sharing) configs.back().split_share = 1;
  }
  calls.whole_group([&] {
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].device->enter();
      const int color = request.colors[i] < 0 ? nccl::kNoColor : request.colors[i];
      const nccl::Communicator communicator = calls.of(parent.members[i]);
      calls.require(parent.nccl->split(communicator, color, request.keys[i], &made[i].communicator, &configs[i]), communicator);
    }
  });
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (request.colors[i] >= 0) calls.wait_for(&made[i].communicator);
  }
}

}  // namespace

std::shared_ptr<Clique> new_clique(Runtime& runtime, const CliqueRequest& request) {
  if (request.ranks.empty() || request.ranks.size() != request.devices.size()) throw invalid("a communicator needs a device for each rank of this process");
  if (request.size < 1) throw invalid("a communicator must have at least one rank");
  for (const int rank : request.ranks) {
    if (rank < 0 || rank >= request.size) throw invalid("a rank must be from 0 to below " + std::to_string(request.size) + ", got " + std::to_string(rank));
  }
  auto clique = std::make_shared<Clique>();
  clique->name = request.name;
  clique->size = request.size;
  clique->is_blocking = request.is_blocking;
  clique->nccl = &runtime.nccl();
  clique->count = &runtime.counts.communicators;
  clique->ranks = request.ranks;
  clique->devices = request.devices;
  return clique;
}

SharedOperation open_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique, const nccl::UniqueId& id) {
  SharedOperation operation = operation_on(clique, "open");
  operation->opens_clique = true;
  // Captures only the id: the operation holds the clique, and a second reference would be a cycle.
  operation->launch = [&runtime, id](Operation& self) {
    Clique& made = *self.clique;
    std::vector<Member> members;
    for (std::size_t i = 0; i < made.ranks.size(); ++i) members.push_back({made.ranks[i], &runtime.device(made.devices[i])});
    {
      const std::lock_guard<std::mutex> lock(runtime.scheduler.mutex());
      if (made.state == CliqueState::kFailed) return;
      if (!made.members.empty()) throw Error(FailureKind::kClosed, "the communicator was already opened");
      made.members = std::move(members);
    }
    const NcclCalls calls(runtime, made, self);
    nccl::Config config = made.nccl->config_for(made.name, made.is_blocking);
    calls.group([&] {
      for (Member& member : made.members) {
        member.device->enter();
        calls.require(made.nccl->init(&member.communicator, made.size, id, member.rank, &config), nullptr);
      }
    });
  };
  operation->is_launched = [&runtime](Operation& self) {
    const NcclCalls calls(runtime, *self.clique, self);
    for (const Member& member : self.clique->members) {
      if (!calls.is_done(&member.communicator)) return false;
    }
    set_open(runtime, *self.clique);
    return true;
  };
  operation->unfinished = "not all ranks have arrived";
  return operation;
}

SharedOperation make_unique_id(Runtime& runtime, const std::shared_ptr<nccl::UniqueId>& into) {
  const nccl::Nccl& nccl = runtime.nccl();
  auto operation = std::make_shared<Operation>();
  operation->name = "unique id";
  operation->launch = [&nccl, into](Operation&) {
    const nccl::Result result = nccl.unique_id(into.get());
    if (result != nccl::kSuccess) throw Error(nccl.failure_of(result, nullptr));
  };
  return operation;
}

SharedOperation split_clique(Runtime& runtime, const std::shared_ptr<Clique>& parent, const SplitRequest& request, const SharedParts& parts) {
  const std::size_t locals = parent->ranks.size();
  if (request.colors.size() != locals || request.keys.size() != locals) throw invalid("a split needs a color and a key for each rank of this process");
  SharedOperation operation = operation_on(parent, "split");
  operation->launch = [&runtime, request, parts](Operation& self) {
    Clique& clique = *self.clique;
    // If the split fails, all communicators that it has made are aborted.
    const auto made = part_of(clique, clique.name);
    for (const Member& member : clique.members) made->members.push_back({member.rank, member.device});
    try {
      split_members(NcclCalls(runtime, clique, self), clique, request, made->members);
      *parts = parts_of(clique, request, made->members);
    } catch (...) {
      abort_after(self.clique, made, runtime.scheduler);
      throw;
    }
    for (const Part& part : *parts) runtime.counts.communicators += static_cast<long>(part.places.size());
  };
  return operation;
}

SharedOperation destroy_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique) {
  SharedOperation operation = operation_on(clique, "destroy");
  operation->ends_clique = true;
  operation->launch = [&runtime](Operation& self) {
    Clique& ending = *self.clique;
    const NcclCalls calls(runtime, ending, self);
    // Waits for the work under way outside of NCCL, because nothing could end a wait inside NCCL.
    for (const Member& member : ending.members) {
      member.device->enter();
      const SharedFence fence = member.device->fence(Lane::kCommunication);
      while (!fence->has_passed()) {
        if (runtime.scheduler.has_failed(self)) return;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    // The calls wait for other ranks of the host. An abort takes the communicators away, and so can
    // still end the wait.
    calls.whole_group([&] {
      for (const Member& member : ending.members) calls.require(ending.nccl->finalize(calls.of(member)), calls.of(member));
    });
    std::vector<Member> members;
    {
      const std::lock_guard<std::mutex> lock(runtime.scheduler.mutex());
      if (ending.state == CliqueState::kFailed) return;
      members = ending.take_members();
    }
    for (const Member& member : members) {
      member.device->enter();
      calls.require(ending.nccl->destroy(member.communicator), nullptr);
    }
    runtime.counts.communicators -= static_cast<long>(members.size());
    const std::lock_guard<std::mutex> lock(runtime.scheduler.mutex());
    if (ending.state == CliqueState::kEnding) ending.state = CliqueState::kClosed;
  };
  return operation;
}

}  // namespace coll

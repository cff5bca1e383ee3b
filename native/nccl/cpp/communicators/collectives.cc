#include "collectives.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "../devices/kernel_operations.h"
#include "nccl_calls.h"

namespace coll {
namespace {

constexpr const char* kNames[] = {"all-reduce", "reduce", "broadcast", "all-gather", "reduce-scatter"};
constexpr int kLastOp = 4;

bool reads(const Call& call, int rank) { return call.kind != Kind::kBroadcast || rank == call.root; }
bool writes(const Call& call, int rank) { return call.kind != Kind::kReduce || rank == call.root; }

std::size_t input_count(const Call& call, int size) { return call.kind == Kind::kReduceScatter ? call.count * static_cast<std::size_t>(size) : call.count; }
std::size_t output_count(const Call& call, int size) { return call.kind == Kind::kAllGather ? call.count * static_cast<std::size_t>(size) : call.count; }

void require_place(const Place& place, std::size_t count, const Call& call, int device, const char* what) {
  const std::size_t bytes = count * dtype_bytes(call.dtype);
  const std::string which = std::string(kNames[static_cast<int>(call.kind)]) + ": the " + what + " of GPU " + std::to_string(device);
  if (place.allocation == nullptr) throw invalid(which + " is missing");
  if (place.allocation->device != device) throw invalid(which + " lies on GPU " + std::to_string(place.allocation->device));
  if (place.offset > place.allocation->bytes || place.allocation->bytes - place.offset < bytes) {
    throw invalid(which + " is too small: " + std::to_string(place.allocation->bytes) + " bytes, of which " + std::to_string(bytes) + " are wanted from " +
                  std::to_string(place.offset) + " on");
  }
}

void require_call(const Call& call, const Clique& clique) {
  const bool has_root = call.kind == Kind::kReduce || call.kind == Kind::kBroadcast;
  if (has_root && (call.root < 0 || call.root >= clique.size)) throw invalid("there is no rank " + std::to_string(call.root) + " among " + std::to_string(clique.size));
  if (call.op < 0 || call.op > kLastOp) throw invalid("there is no op " + std::to_string(call.op));
  for (std::size_t i = 0; i < clique.ranks.size(); ++i) {
    if (reads(call, clique.ranks[i])) require_place(call.inputs[i], input_count(call, clique.size), call, clique.devices[i], "input");
    if (writes(call, clique.ranks[i])) require_place(call.outputs[i], output_count(call, clique.size), call, clique.devices[i], "output");
  }
}

void* pointer_of(const Place& place) {
  if (place.allocation == nullptr) return nullptr;
  return reinterpret_cast<void*>(place.allocation->pointer + place.offset);
}

nccl::Result issue(const nccl::Nccl& nccl, const Call& call, std::size_t i, const Member& member, cuda::Stream stream) {
  const void* const input = pointer_of(call.inputs[i]);
  void* const output = pointer_of(call.outputs[i]);
  const nccl::Communicator communicator = member.communicator;
  switch (call.kind) {
    case Kind::kAllReduce: return nccl.all_reduce(input, output, call.count, call.dtype, call.op, communicator, stream);
    case Kind::kReduce: return nccl.reduce(input, output, call.count, call.dtype, call.op, call.root, communicator, stream);
    case Kind::kBroadcast: return nccl.broadcast(input, output, call.count, call.dtype, call.root, communicator, stream);
    case Kind::kAllGather: return nccl.all_gather(input, output, call.count, call.dtype, communicator, stream);
    default: return nccl.reduce_scatter(input, output, call.count, call.dtype, call.op, communicator, stream);
  }
}

SharedOperation operation_of(const char* name, const std::shared_ptr<Clique>& clique) {
  auto operation = std::make_shared<Operation>();
  operation->name = name;
  operation->group = clique->name;
  operation->clique = clique;
  return operation;
}

void set_open(Runtime& runtime, Clique& clique) {
  const std::lock_guard<std::mutex> lock(runtime.scheduler.mutex());
  if (clique.state != CliqueState::kMaking) return;
  clique.state = CliqueState::kOpen;
  *clique.count += static_cast<long>(clique.members.size());
}

std::shared_ptr<Clique> part_of(const Clique& parent, const std::string& name) {
  auto clique = std::make_shared<Clique>();
  clique->name = name;
  clique->is_blocking = parent.is_blocking;
  clique->nccl = parent.nccl;
  clique->count = parent.count;
  return clique;
}

// Sorts the communicators that a split has made by color.
std::vector<Part> parts_of(const Clique& parent, const std::vector<int>& colors, const std::vector<Member>& made, const std::string& name) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].communicator == nullptr) continue;
    auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.color == colors[i]; });
    if (found == parts.end()) found = parts.insert(parts.end(), {colors[i], part_of(parent, name), {}});
    Clique& clique = *found->clique;
    int rank = 0;
    if (parent.nccl->rank(made[i].communicator, &rank) != nccl::kSuccess || parent.nccl->count(made[i].communicator, &clique.size) != nccl::kSuccess) {
      throw Error(FailureKind::kNccl, "NCCL does not say who is in a part of " + parent.name);
    }
    clique.members.push_back({rank, made[i].device, made[i].communicator});
    clique.ranks.push_back(rank);
    clique.devices.push_back(made[i].device->index());
    clique.state = CliqueState::kOpen;
    found->places.push_back(static_cast<int>(i));
  }
  return parts;
}

}  // namespace

std::shared_ptr<Clique> new_clique(Runtime& runtime, const CliqueRequest& request) {
  if (request.ranks.empty() || request.ranks.size() != request.devices.size()) throw invalid("a communicator has a device for each rank of this process");
  if (request.size < 1) throw invalid("a communicator has one rank at least");
  for (const int rank : request.ranks) {
    if (rank < 0 || rank >= request.size) throw invalid("there is no rank " + std::to_string(rank) + " among " + std::to_string(request.size));
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
  SharedOperation operation = operation_of("open", clique);
  // The operation has the clique; a second hold here would be a cycle.
  operation->launch = [&runtime, id](Operation& self) {
    Clique& made = *self.clique;
    std::vector<Member> members;
    for (std::size_t i = 0; i < made.ranks.size(); ++i) members.push_back({made.ranks[i], &runtime.device(made.devices[i])});
    {
      const std::lock_guard<std::mutex> lock(runtime.scheduler.mutex());
      if (made.state != CliqueState::kMaking) return;
      made.members = std::move(members);
    }
    const NcclCalls calls(runtime, made, self);
    nccl::Config config;
    config.blocking = made.is_blocking ? 1 : 0;
    calls.group([&] {
      for (Member& member : made.members) {
        member.device->enter();
        calls.require(made.nccl->init(&member.communicator, made.size, id, member.rank, &config), nullptr);
      }
    });
    for (const Member& member : made.members) calls.wait_for(&member.communicator);
    set_open(runtime, made);
  };
  return operation;
}

SharedOperation make_unique_id(Runtime& runtime, const std::shared_ptr<nccl::UniqueId>& into) {
  const nccl::Nccl& nccl = runtime.nccl();
  auto operation = std::make_shared<Operation>();
  operation->name = "unique id";
  operation->launch = [&nccl, into](Operation&) {
    const nccl::Result result = nccl.unique_id(into.get());
    if (result != nccl::kSuccess) throw Error({FailureKind::kNccl, result, nccl.text_of(result, nullptr)});
  };
  return operation;
}

SharedOperation split_clique(Runtime& runtime, const std::shared_ptr<Clique>& parent, std::vector<int> colors, std::vector<int> keys,
                             std::string name, const SharedParts& parts) {
  if (colors.size() != parent->ranks.size() || keys.size() != parent->ranks.size()) throw invalid("a split takes a color and a key for each rank of this process");
  SharedOperation operation = operation_of("split", parent);
  operation->launch = [&runtime, colors = std::move(colors), keys = std::move(keys), name = std::move(name), parts](Operation& self) {
    Clique& clique = *self.clique;
    const NcclCalls calls(runtime, clique, self);
    std::vector<Member> made = clique.members;
    for (Member& member : made) member.communicator = nullptr;
    calls.group([&] {
      for (std::size_t i = 0; i < made.size(); ++i) {
        made[i].device->enter();
        const int color = colors[i] < 0 ? nccl::kNoColor : colors[i];
        const nccl::Communicator communicator = clique.members[i].communicator;
        calls.require(clique.nccl->split(communicator, color, keys[i], &made[i].communicator, nullptr), communicator);
      }
    });
    for (const Member& member : clique.members) calls.wait_for(&member.communicator);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (colors[i] >= 0) calls.wait_for(&made[i].communicator);
    }
    *parts = parts_of(clique, colors, made, name);
    for (const Part& part : *parts) runtime.counts.communicators += static_cast<long>(part.places.size());
  };
  return operation;
}

SharedOperation run_calls(Runtime& runtime, const std::shared_ptr<Clique>& clique, std::vector<Call> all) {
  SharedOperation operation = operation_of(all.size() == 1 ? kNames[static_cast<int>(all[0].kind)] : "group of collectives", clique);
  for (const Call& call : all) {
    require_call(call, *clique);
    for (std::size_t i = 0; i < clique->ranks.size(); ++i) {
      if (call.inputs[i].allocation != nullptr) operation->uses.push_back({call.inputs[i].allocation, false});
      if (call.outputs[i].allocation != nullptr) operation->uses.push_back({call.outputs[i].allocation, true});
    }
  }
  operation->launch = [&runtime, all = std::move(all)](Operation& self) {
    const Clique& running = *self.clique;
    const NcclCalls calls(runtime, running, self);
    for (const Member& member : running.members) {
      member.device->enter();
      wait_for_uses(self, *member.device, member.device->stream(Lane::kCommunication));
    }
    calls.group([&] {
      for (const Call& call : all) {
        for (std::size_t i = 0; i < running.members.size(); ++i) {
          const Member& member = running.members[i];
          calls.require(issue(*running.nccl, call, i, member, member.device->stream(Lane::kCommunication)), member.communicator);
        }
      }
    });
    for (const Member& member : running.members) {
      if (!running.is_blocking) calls.wait_for(&member.communicator);
    }
    for (const Member& member : running.members) {
      member.device->enter();
      mark_end(self, *member.device, member.device->stream(Lane::kCommunication));
    }
  };
  return operation;
}

SharedOperation destroy_clique(Runtime& runtime, const std::shared_ptr<Clique>& clique) {
  SharedOperation operation = operation_of("destroy", clique);
  operation->ends_clique = true;
  operation->launch = [&runtime](Operation& self) {
    Clique& ending = *self.clique;
    const NcclCalls calls(runtime, ending, self);
    // Waits for the work that is under way, and not inside NCCL, where nothing could end the wait.
    for (const Member& member : ending.members) {
      member.device->enter();
      const SharedFence fence = member.device->fence(Lane::kCommunication);
      while (!fence->has_passed()) {
        if (runtime.scheduler.has_failed(self)) return;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
    if (!ending.is_blocking) {
      calls.group([&] {
        for (const Member& member : ending.members) calls.require(ending.nccl->finalize(member.communicator), member.communicator);
      });
      for (const Member& member : ending.members) calls.wait_for(&member.communicator);
    }
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

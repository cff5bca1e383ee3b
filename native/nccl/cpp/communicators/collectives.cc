#include "collectives.h"

#include <string>

#include "../devices/foreign_memory.h"
#include "../devices/kernel_operations.h"
#include "nccl_calls.h"

namespace coll {
namespace {

constexpr const char* kNames[] = {"all-reduce", "reduce", "broadcast", "all-gather", "reduce-scatter", "gather", "scatter", "all-to-all"};
constexpr const char* kOps[] = {"sum", "prod", "max", "min", "average"};
constexpr int kLastOp = 4;

bool reads(const Call& call, int rank) { return (call.kind != Kind::kBroadcast && call.kind != Kind::kScatter) || rank == call.root; }
bool writes(const Call& call, int rank) { return (call.kind != Kind::kReduce && call.kind != Kind::kGather) || rank == call.root; }

std::size_t input_count(const Call& call, int size) {
  const bool has_blocks = call.kind == Kind::kReduceScatter || call.kind == Kind::kScatter || call.kind == Kind::kAllToAll;
  return has_blocks ? call.count * static_cast<std::size_t>(size) : call.count;
}
std::size_t output_count(const Call& call, int size) {
  const bool has_blocks = call.kind == Kind::kAllGather || call.kind == Kind::kGather || call.kind == Kind::kAllToAll;
  return has_blocks ? call.count * static_cast<std::size_t>(size) : call.count;
}

void require_address(const DeviceAddress& address, std::size_t count, const Call& call, int device, const char* what) {
  const std::size_t bytes = count * dtype_bytes(call.dtype);
  const std::string which = std::string(kNames[static_cast<int>(call.kind)]) + ": the " + what + " of GPU " + std::to_string(device);
  if (address.allocation == nullptr) throw invalid(which + " is missing");
  if (address.allocation->device != device) throw invalid(which + " is on GPU " + std::to_string(address.allocation->device));
  if (address.offset > address.allocation->bytes || address.allocation->bytes - address.offset < bytes) {
    throw invalid(which + " is too small: " + std::to_string(address.allocation->bytes) + " bytes, of which " + std::to_string(bytes) + " are needed from byte " +
                  std::to_string(address.offset) + " on");
  }
}

void require_call(const Call& call, const Clique& clique) {
  const bool has_root = call.kind == Kind::kReduce || call.kind == Kind::kBroadcast || call.kind == Kind::kGather || call.kind == Kind::kScatter;
  if (has_root && (call.root < 0 || call.root >= clique.size)) throw invalid("root must be from 0 to below " + std::to_string(clique.size) + ", got " + std::to_string(call.root));
  if (call.op < 0 || call.op > kLastOp) throw invalid("unknown op " + std::to_string(call.op));
  for (std::size_t i = 0; i < clique.ranks.size(); ++i) {
    if (reads(call, clique.ranks[i])) require_address(call.inputs[i], input_count(call, clique.size), call, clique.devices[i], "input");
    if (writes(call, clique.ranks[i])) require_address(call.outputs[i], output_count(call, clique.size), call, clique.devices[i], "output");
  }
}

void* pointer_of(const DeviceAddress& address) {
  if (address.allocation == nullptr) return nullptr;
  return reinterpret_cast<void*>(address.allocation->pointer + address.offset);
}

nccl::Result issue(const nccl::Nccl& nccl, const Call& call, std::size_t i, nccl::Communicator communicator, cuda::Stream stream) {
  const void* const input = pointer_of(call.inputs[i]);
  void* const output = pointer_of(call.outputs[i]);
  switch (call.kind) {
    case Kind::kAllReduce: return nccl.all_reduce(input, output, call.count, call.dtype, call.op, communicator, stream);
    case Kind::kReduce: return nccl.reduce(input, output, call.count, call.dtype, call.op, call.root, communicator, stream);
    case Kind::kBroadcast: return nccl.broadcast(input, output, call.count, call.dtype, call.root, communicator, stream);
    case Kind::kAllGather: return nccl.all_gather(input, output, call.count, call.dtype, communicator, stream);
    default: return nccl.reduce_scatter(input, output, call.count, call.dtype, call.op, communicator, stream);
  }
}

// NCCL before 2.28 has no gather, scatter and all-to-all: they are sent as messages of one group,
// also from a rank to itself.
void issue_messages(const NcclCalls& calls, const nccl::Nccl& nccl, const Call& call, std::size_t i, const Clique& clique, nccl::Communicator communicator,
                    cuda::Stream stream) {
  if (call.count == 0) return;
  const int rank = clique.ranks[i];
  const std::size_t block = call.count * dtype_bytes(call.dtype);
  const bool is_gather = call.kind == Kind::kGather;
  const bool is_scatter = call.kind == Kind::kScatter;
  for (int peer = 0; peer < clique.size; ++peer) {
    const std::size_t place = block * static_cast<std::size_t>(peer);
    if (is_scatter ? rank == call.root : !is_gather || peer == call.root) {
      const auto* const from = static_cast<const std::byte*>(pointer_of(call.inputs[i])) + (is_gather ? 0 : place);
      calls.require(nccl.send(from, call.count, call.dtype, peer, communicator, stream), communicator);
    }
    if (is_gather ? rank == call.root : !is_scatter || peer == call.root) {
      auto* const into = static_cast<std::byte*>(pointer_of(call.outputs[i])) + (is_scatter ? 0 : place);
      calls.require(nccl.receive(into, call.count, call.dtype, peer, communicator, stream), communicator);
    }
  }
}

}  // namespace

SharedOperation run_calls(Runtime& runtime, const std::shared_ptr<Clique>& clique, std::vector<Call> all) {
  SharedOperation operation = operation_on(clique, all.size() == 1 ? kNames[static_cast<int>(all[0].kind)] : "group of collectives");
  for (const Call& call : all) {
    require_call(call, *clique);
    operation->elements += call.count;
    for (std::size_t i = 0; i < clique->ranks.size(); ++i) {
      if (call.inputs[i].allocation != nullptr) operation->uses.push_back({call.inputs[i].allocation, false});
      if (call.outputs[i].allocation != nullptr) operation->uses.push_back({call.outputs[i].allocation, true});
    }
  }
  const Call& first = all[0];
  const bool reduces = first.kind == Kind::kAllReduce || first.kind == Kind::kReduce || first.kind == Kind::kReduceScatter;
  operation->dtype = dtype_name(first.dtype);
  operation->op = reduces ? kOps[first.op] : "";
  operation->launch = [&runtime, all = std::move(all)](Operation& self) {
    const Clique& running = *self.clique;
    const NcclCalls calls(runtime, running, self);
    for (const Use& use : self.uses) require_open_to(runtime.driver, *use.allocation, running.devices);
    for (const Member& member : running.members) {
      member.device->enter();
      wait_for_uses(self, *member.device, member.device->stream(Lane::kCommunication));
    }
    calls.whole_group([&] {
      for (const Call& call : all) {
        for (std::size_t i = 0; i < running.members.size(); ++i) {
          const Member& member = running.members[i];
          const nccl::Communicator communicator = calls.of(member);
          const cuda::Stream stream = member.device->stream(Lane::kCommunication);
          if (call.kind >= Kind::kGather) issue_messages(calls, *running.nccl, call, i, running, communicator, stream);
          else calls.require(issue(*running.nccl, call, i, communicator, stream), communicator);
        }
      }
    });
    for (const Member& member : running.members) {
      member.device->enter();
      mark_end(self, *member.device, member.device->stream(Lane::kCommunication));
    }
  };
  return operation;
}

}  // namespace coll

#include "executors.h"

#if defined(__linux__)

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "../messages/message_executor.h"
#include "../messages/ring_channel.h"
#include "../messages/tcp_channel.h"
#include "../shared/shared_executor.h"
#include "exports.h"
#include "memory.h"
#include "process_group.h"
#include "segments.h"
#include "thresholds.h"

namespace coll {
namespace {

int descriptor_of(const Napi::Value& number) { return integer_of(number, "descriptor", 0, INT_MAX); }

// takeSocket(descriptor: number): number, a duplicate that stays open when Node closes its own
Napi::Value take_socket(const Napi::CallbackInfo& info) {
  const int taken = fcntl(descriptor_of(info[0]), F_DUPFD_CLOEXEC, 0);
  if (taken < 0) throw Error(std::string("cannot duplicate the socket of a connection: ") + std::strerror(errno));
  return Napi::Number::New(info.Env(), taken);
}

// closeSocket(descriptor: number), for a socket that was taken but not used
Napi::Value close_socket(const Napi::CallbackInfo& info) {
  ::close(descriptor_of(info[0]));
  return info.Env().Undefined();
}

LocalRank local_rank_of(const Napi::CallbackInfo& info, std::size_t first) {
  const int ranks = integer_of(info[first + 1], "localRanks", 1, INT_MAX - 1);
  return {integer_of(info[first], "localRank", 0, ranks - 1), ranks, integer_of(info[first + 2], "cores", 0, INT_MAX - 1)};
}

// useSharedMemory(group, memory, localRank: number, localRanks: number, cores: number,
//   thresholds: number[])
Napi::Value use_shared_memory(const Napi::CallbackInfo& info) {
  HeldGroup& held_group = held<HeldGroup>(info[0]);
  const MemoryPointer& memory = memory_of(info[1]);
  const LocalRank local = local_rank_of(info, 2);
  const Thresholds thresholds = thresholds_of(info[5]);
  const Group& group = held_group.group();
  if (memory->rank() != group.rank() || memory->size() != held_group.size()) throw WrongArgument("memory must be that of this rank and group");
  held_group.take(std::make_unique<SharedExecutor>(memory, group.rank(), memory->size(), local, group.failure_word(), thresholds),
                  Transport::kMemory);
  held_group.staging_pool().share(memory);
  return info.Env().Undefined();
}

// One end of a ring in the segment of the lower rank of a pair. Keeps that segment alive.
class SegmentRing : public RingChannel {
 public:
  SegmentRing(SegmentPointer segment, int higher, bool is_lower)
      : RingChannel(ring_of(*segment, higher), kRingBytes, is_lower), segment_(std::move(segment)) {}

 private:
  const SegmentPointer segment_;
};

// Sockets that no channel has taken over yet. Closes them if a channel cannot be made.
struct Unclaimed {
  std::vector<std::vector<int>> sockets;
  ~Unclaimed() {
    for (const std::vector<int>& list : sockets) {
      for (const int socket : list) ::close(socket);
    }
  }
};

// A channel to each rank, over its sockets or its ring; null for one's own rank. Takes the sockets
// over once all arguments are valid.
std::vector<std::unique_ptr<Channel>> channels_of(int own, std::size_t size, const Napi::Value& sockets_by_rank, const Napi::Value& rings_by_rank) {
  const Napi::Array lists = array_of(sockets_by_rank, "sockets", size);
  const Napi::Array rings = array_of(rings_by_rank, "rings", size);
  Unclaimed unclaimed;
  std::vector<SegmentPointer> segments(size);
  std::vector<std::vector<int>> sockets(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const Elements list = elements_of(lists.Get(rank), napi_int32_array, "sockets");
    const auto* const first = reinterpret_cast<const int*>(list.begin);
    sockets[rank].assign(first, first + list.count);
    const Napi::Value ring = rings.Get(rank);
    if (!ring.IsUndefined()) segments[rank] = segment_of(ring);
    const bool is_own = static_cast<int>(rank) == own;
    if (is_own != (sockets[rank].empty() && !segments[rank])) throw WrongArgument("every other rank must have sockets or a ring, and this rank must have neither");
  }
  unclaimed.sockets = std::move(sockets);
  std::vector<std::unique_ptr<Channel>> channels;
  for (std::size_t rank = 0; rank < size; ++rank) {
    std::vector<int> taken = std::exchange(unclaimed.sockets[rank], {});
    const int other = static_cast<int>(rank);
    if (segments[rank]) channels.push_back(std::make_unique<SegmentRing>(segments[rank], std::max(other, own), own < other));
    else channels.push_back(taken.empty() ? nullptr : std::make_unique<TcpChannel>(std::move(taken)));
  }
  return channels;
}

// useMessages(group, sockets: Int32Array[], rings: (External | undefined)[], generation: number,
//   localRank: number, localRanks: number, cores: number, allShareCores: boolean)
// For each rank: sockets, or the segment of the lower rank of the pair.
Napi::Value use_messages(const Napi::CallbackInfo& info) {
  HeldGroup& held_group = held<HeldGroup>(info[0]);
  Group& group = held_group.group();
  const auto generation = static_cast<std::uint32_t>(count_of(info[3], "generation", UINT32_MAX));
  const LocalRank local = local_rank_of(info, 4);
  const bool all_share_cores = flag_of(info[7], "allShareCores");
  held_group.require_no_executor();
  const int size = held_group.size();
  std::vector<std::unique_ptr<Channel>> channels = channels_of(group.rank(), static_cast<std::size_t>(size), info[1], info[2]);
  Monitor& monitor = group.monitor();
  const auto lost = [&monitor](int rank, int error) {
    if (error == EBADMSG) monitor.fail_for_garbled(rank);
    else monitor.suspect(rank, error);
  };
  held_group.take(std::make_unique<MessageExecutor>(std::move(channels), group.rank(), size, local, all_share_cores, generation, group.failure_word(), lost),
                  Transport::kMessages);
  return info.Env().Undefined();
}

}  // namespace

void add_executors(Napi::Object exports) {
  add<take_socket>(exports, "takeSocket");
  add<close_socket>(exports, "closeSocket");
  add<use_shared_memory>(exports, "useSharedMemory");
  add<use_messages>(exports, "useMessages");
}

}  // namespace coll

#endif

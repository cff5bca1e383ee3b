#include "players.h"

#if defined(__linux__)

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "../messages/message_player.h"
#include "../messages/ring_channel.h"
#include "../messages/tcp_channel.h"
#include "../shared/shared_player.h"
#include "exports.h"
#include "memory.h"
#include "process_group.h"
#include "segments.h"

namespace coll {
namespace {

// takeSocket(descriptor: number): number, a duplicate, which outlives Node's own
Napi::Value take_socket(const Napi::CallbackInfo& info) {
  const int taken = fcntl(integer_of(info[0]), F_DUPFD_CLOEXEC, 0);
  if (taken < 0) throw Error(std::string("a connection cannot be taken over: ") + std::strerror(errno));
  return Napi::Number::New(info.Env(), taken);
}

// closeSocket(descriptor: number), of one that was taken and not used
Napi::Value close_socket(const Napi::CallbackInfo& info) {
  ::close(integer_of(info[0]));
  return info.Env().Undefined();
}

LocalRank local_rank_of(const Napi::CallbackInfo& info, std::size_t first) {
  return {integer_of(info[first]), integer_of(info[first + 1]), integer_of(info[first + 2])};
}

// playShared(group, memory, localRank: number, localRanks: number, cores: number)
Napi::Value play_shared(const Napi::CallbackInfo& info) {
  Group& group = group_of(info[0]);
  const Memory& memory = held<Memory>(info[1]);
  held<HeldGroup>(info[0]).staging().share(memory);
  group.take(std::make_unique<SharedPlayer>(memory, group.rank(), memory->size(), local_rank_of(info, 2), group.failure_word()));
  return info.Env().Undefined();
}

// One end of a ring in the memory of the lower rank of a pair, which lives as long as that.
class SegmentRing : public RingChannel {
 public:
  SegmentRing(SharedSegment segment, int higher, bool is_lower)
      : RingChannel(ring_of(*segment, higher), kRingBytes, is_lower), segment_(std::move(segment)) {}

 private:
  const SharedSegment segment_;
};

// Connections of ranks that no channel has taken over, because one before could not be made.
struct Unclaimed {
  std::vector<std::vector<int>> sockets;
  ~Unclaimed() {
    for (const std::vector<int>& list : sockets) {
      for (const int socket : list) ::close(socket);
    }
  }
};

// To each rank, through whichever there is; none to one's own.
std::vector<std::unique_ptr<Channel>> channels_of(int own, const Napi::Array& lists, const Napi::Array& rings) {
  Unclaimed unclaimed;
  for (std::uint32_t rank = 0; rank < lists.Length(); ++rank) {
    const Napi::Int32Array list = Napi::Value(lists.Get(rank)).As<Napi::Int32Array>();
    unclaimed.sockets.emplace_back(list.Data(), list.Data() + list.ElementLength());
  }
  std::vector<std::unique_ptr<Channel>> channels;
  for (std::uint32_t rank = 0; rank < lists.Length(); ++rank) {
    std::vector<int> sockets = std::exchange(unclaimed.sockets[rank], {});
    const Napi::Value ring = rings.Get(rank);
    const int other = static_cast<int>(rank);
    if (!ring.IsUndefined()) {
      channels.push_back(std::make_unique<SegmentRing>(held<SharedSegment>(ring), std::max(other, own), own < other));
    } else {
      channels.push_back(sockets.empty() ? nullptr : std::make_unique<TcpChannel>(std::move(sockets)));
    }
  }
  return channels;
}

// playMessages(group, sockets: Int32Array[], rings: (External | undefined)[], generation: number, localRank: number, localRanks: number, cores: number,
//   allShareCores: boolean)
// By rank: sockets, or the memory of the lower rank of the pair.
Napi::Value play_messages(const Napi::CallbackInfo& info) {
  Group& group = group_of(info[0]);
  const Napi::Array lists = info[1].As<Napi::Array>();
  std::vector<std::unique_ptr<Channel>> channels = channels_of(group.rank(), lists, info[2].As<Napi::Array>());
  const int size = static_cast<int>(lists.Length());
  Monitor& monitor = group.monitor();
  const auto lost = [&monitor](int rank, int error) {
    if (error == EBADMSG) monitor.fail_for_garbled(rank);
    else monitor.suspect(rank, error);
  };
  const std::uint32_t generation = info[3].As<Napi::Number>().Uint32Value();
  const LocalRank local = local_rank_of(info, 4);
  group.take(std::make_unique<MessagePlayer>(std::move(channels), group.rank(), size, local, info[7].ToBoolean(), generation, group.failure_word(), lost));
  return info.Env().Undefined();
}

}  // namespace

void add_players(Napi::Object exports) {
  add<take_socket>(exports, "takeSocket");
  add<close_socket>(exports, "closeSocket");
  add<play_shared>(exports, "playShared");
  add<play_messages>(exports, "playMessages");
}

}  // namespace coll

#endif

#include "executors.h"

#if defined(__linux__)

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "../messages/lazy_channel.h"
#include "../messages/message_executor.h"
#include "../messages/ring_channel.h"
#include "../processes/end_sockets.h"
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

// endSockets(descriptors: Int32Array, millis: number): ends this side of connections, and blocks
// until the others have read everything and ended theirs, or `millis` have passed
Napi::Value end_sockets(const Napi::CallbackInfo& info) {
  const Elements descriptors = elements_of(info[0], napi_int32_array, "descriptors", 0);
  const auto* const first = reinterpret_cast<const int*>(descriptors.begin);
  coll::end_sockets({first, first + descriptors.count}, std::chrono::milliseconds(integer_of(info[1], "millis", 0, INT_MAX)));
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

// listenForData(host: string): [descriptor: number, port: number]; an IP address and a free port
Napi::Value listen_for_data(const Napi::CallbackInfo& info) {
  const DataListener listener(text_of(info[0], "host"));
  Napi::Array result = Napi::Array::New(info.Env(), 2);
  result.Set(0u, listener.socket);
  result.Set(1u, listener.port);
  return result;
}

// The addresses of the other ranks, and the tickets of the connections with them.
std::vector<DataPeer> data_peers_of(std::size_t size, const Napi::Value& hosts, const Napi::Value& ports, const Napi::Value& tickets, const Napi::Value& sealed,
                                    const Napi::Value& checksummed) {
  const Napi::Array host_list = array_of(hosts, "hosts", size);
  const Elements port_list = elements_of(ports, napi_int32_array, "ports", size);
  const Napi::Array ticket_lists = array_of(tickets, "tickets", size);
  const Napi::Array sealed_list = array_of(sealed, "sealed", size);
  const Napi::Array checksummed_list = array_of(checksummed, "checksummed", size);
  std::vector<DataPeer> peers;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const std::string host = text_of(host_list.Get(rank), "hosts");
    const int port = reinterpret_cast<const std::int32_t*>(port_list.begin)[rank];
    const Elements bytes = elements_of(ticket_lists.Get(rank), napi_uint8_array, "tickets");
    if (port < 0 || port > UINT16_MAX) throw WrongArgument("ports must be from 0 to 65535, got " + std::to_string(port));
    if (bytes.count % sizeof(Ticket) != 0) throw WrongArgument("tickets must have 64 bytes each, got " + std::to_string(bytes.count));
    DataPeer& peer = peers.emplace_back(DataPeer{parsed("hosts", [&] { return DataAddress(host, port); }), {}});
    peer.is_sealed = flag_of(sealed_list.Get(rank), "sealed");
    peer.is_checksummed = flag_of(checksummed_list.Get(rank), "checksummed");
    if (peer.is_sealed && peer.is_checksummed) throw WrongArgument("checksummed must be false for a rank whose connections are sealed");
    if (peer.is_sealed && !sealing_problem().empty()) throw Error(sealing_problem());
    peer.tickets.resize(bytes.count / sizeof(Ticket));
    if (bytes.count > 0) std::memcpy(peer.tickets.data(), bytes.begin, bytes.count);
  }
  return peers;
}

// The segments of the lower ranks of the pairs that share memory; null for others.
std::vector<SegmentPointer> rings_of(const Napi::Value& rings, std::size_t size) {
  const Napi::Array list = array_of(rings, "rings", size);
  std::vector<SegmentPointer> segments(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const Napi::Value ring = list.Get(rank);
    if (!ring.IsUndefined()) segments[rank] = segment_of(ring);
  }
  return segments;
}

// useMessages(group, listener: number, hosts: string[], ports: Int32Array, tickets: Uint8Array[],
//   sealed: boolean[], checksummed: boolean[], connectMillis: number, rings: (External | undefined)[], generation: number, localRank: number,
//   localRanks: number, cores: number, allShareCores: boolean)
// For each other rank: tickets for connections, or the segment of the lower rank of the pair.
Napi::Value use_messages(const Napi::CallbackInfo& info) {
  HeldGroup& held_group = held<HeldGroup>(info[0]);
  Group& group = held_group.group();
  const int own = group.rank();
  const auto size = static_cast<std::size_t>(held_group.size());
  const int listener = descriptor_of(info[1]);
  std::vector<DataPeer> peers = data_peers_of(size, info[2], info[3], info[4], info[5], info[6]);
  const std::chrono::milliseconds timeout(count_of(info[7], "connectMillis", INT_MAX));
  const std::vector<SegmentPointer> rings = rings_of(info[8], size);
  const auto generation = static_cast<std::uint32_t>(count_of(info[9], "generation", UINT32_MAX));
  const LocalRank local = local_rank_of(info, 10);
  const bool all_share_cores = flag_of(info[13], "allShareCores");
  held_group.require_no_executor();
  for (std::size_t rank = 0; rank < size; ++rank) {
    const bool is_own = static_cast<int>(rank) == own;
    if (is_own != (peers[rank].tickets.empty() && !rings[rank])) throw WrongArgument("every other rank must have tickets or a ring, and this rank must have neither");
  }
  const auto data = std::make_shared<DataConnections>(own, listener, std::move(peers), timeout);
  std::vector<std::unique_ptr<Channel>> channels(size);
  for (int rank = 0; rank < static_cast<int>(size); ++rank) {
    const SegmentPointer& ring = rings[static_cast<std::size_t>(rank)];
    if (rank == own) continue;
    std::unique_ptr<Channel>& channel = channels[static_cast<std::size_t>(rank)];
    if (ring) channel = std::make_unique<SegmentRing>(ring, std::max(rank, own), own < rank);
    else channel = std::make_unique<LazyChannel>(data, rank);
  }
  Monitor& monitor = group.monitor();
  const auto lost = [&monitor](int rank, int error) {
    if (error == EBADMSG) monitor.fail_for_garbled(rank);
    else monitor.suspect(rank, error);
  };
  held_group.take(std::make_unique<MessageExecutor>(std::move(channels), own, static_cast<int>(size), local, all_share_cores, generation, group.failure_word(), lost),
                  Transport::kMessages);
  monitor.serve(data);
  return info.Env().Undefined();
}

}  // namespace

void add_executors(Napi::Object exports) {
  add<take_socket>(exports, "takeSocket");
  add<close_socket>(exports, "closeSocket");
  add<end_sockets>(exports, "endSockets");
  add<listen_for_data>(exports, "listenForData");
  add<use_shared_memory>(exports, "useSharedMemory");
  add<use_messages>(exports, "useMessages");
}

}  // namespace coll

#endif

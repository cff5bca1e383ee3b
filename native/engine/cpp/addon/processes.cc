#include "exports.h"

#if defined(__linux__)

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "../messages/message_player.h"
#include "../messages/message_program.h"
#include "../messages/ring_channel.h"
#include "../messages/tcp_channel.h"
#include "../processes/group.h"
#include "../shared/shared_player.h"
#include "memory.h"
#include "offers.h"
#include "process_group.h"
#include "segments.h"

namespace coll {
namespace {

using Messages = std::shared_ptr<const MessageProgram>;

Group& group_of(const Napi::Value& value) { return held<HeldGroup>(value).group(); }
HeldCall& call_of(const Napi::Value& value) { return held<HeldCall>(value); }

std::chrono::microseconds timeout_of(const Napi::Value& millis) {
  // A hundred years are for ever.
  constexpr double kMost = 3.2e12;
  const double count = std::clamp(millis.As<Napi::Number>().DoubleValue(), 0.0, kMost);
  return std::chrono::microseconds(static_cast<std::int64_t>(count * 1000));
}

Napi::Value list_of(Napi::Env env, const std::vector<int>& ranks) {
  Napi::Array list = Napi::Array::New(env, ranks.size());
  for (std::uint32_t i = 0; i < ranks.size(); ++i) list.Set(i, ranks[i]);
  return list;
}

Napi::Value status_of(Napi::Env env, Status status) { return Napi::Number::New(env, static_cast<int>(status)); }

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

// group(rank: number, sockets: Int32Array, names: string[], silenceMillis: number, wake: () => void): External
Napi::Value make_group(const Napi::CallbackInfo& info) {
  Watch watch;
  watch.rank = integer_of(info[0]);
  const Napi::Int32Array sockets = info[1].As<Napi::Int32Array>();
  watch.sockets.assign(sockets.Data(), sockets.Data() + sockets.ElementLength());
  const Napi::Array names = info[2].As<Napi::Array>();
  for (std::uint32_t i = 0; i < names.Length(); ++i) watch.names.push_back(names.Get(i).ToString());
  watch.silence = std::chrono::milliseconds(integer_of(info[3]));
  return hold(info.Env(), new HeldGroup(info.Env(), std::move(watch), info[4].As<Napi::Function>()));
}

// playShared(group, memory, cores: number)
Napi::Value play_shared(const Napi::CallbackInfo& info) {
  Group& group = group_of(info[0]);
  const Memory& memory = held<Memory>(info[1]);
  held<HeldGroup>(info[0]).staging().share(memory);
  group.take(std::make_unique<SharedPlayer>(memory, group.rank(), memory->size(), integer_of(info[2]), group.failure_word()));
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

// playMessages(group, sockets: Int32Array[], rings: (External | undefined)[], generation: number, cores: number)
// By rank: sockets, or the memory of the lower rank of the pair.
Napi::Value play_messages(const Napi::CallbackInfo& info) {
  Group& group = group_of(info[0]);
  const Napi::Array lists = info[1].As<Napi::Array>();
  const Napi::Array rings = info[2].As<Napi::Array>();
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
      channels.push_back(std::make_unique<SegmentRing>(held<SharedSegment>(ring), std::max(other, group.rank()), group.rank() < other));
    } else {
      channels.push_back(sockets.empty() ? nullptr : std::make_unique<TcpChannel>(std::move(sockets)));
    }
  }
  const int size = static_cast<int>(lists.Length());
  Monitor& monitor = group.monitor();
  const auto lost = [&monitor](int rank, int error) { monitor.suspect(rank, error); };
  const std::uint32_t generation = info[3].As<Napi::Number>().Uint32Value();
  group.take(std::make_unique<MessagePlayer>(std::move(channels), group.rank(), size, integer_of(info[4]), generation, group.failure_word(), lost));
  return info.Env().Undefined();
}

// messageProgram(words: Int32Array, rank: number): External
Napi::Value make_message_program(const Napi::CallbackInfo& info) {
  const std::size_t count = info[0].As<Napi::TypedArray>().ElementLength();
  const auto* words = reinterpret_cast<const std::int32_t*>(address_of(info[0]));
  return hold(info.Env(), new Messages(std::make_shared<const MessageProgram>(parse_message_program(words, count, integer_of(info[1])))));
}

// call(program, rank, begins, inputs, outputs, sharesResult, agreed, state: Float64Array, messages?): External | undefined
// The latter: an output lies in memory of another piece.
Napi::Value make_call(const Napi::CallbackInfo& info) {
  auto made = std::make_unique<HeldCall>();
  Call& call = made->call;
  call.offer = offer_from(info);
  const Offer* const offer = &call.offer;
  if (find_clash(&offer, 1)) return info.Env().Undefined();
  made->losable = {are_losable(info[3]), are_losable(info[4])};
  const std::vector<double> state = numbers_of(info[7]);
  if (state.size() != kStateWords) throw Error("a state has another number of words");
  std::copy(state.begin(), state.end(), call.state.begin());
  if (!info[8].IsUndefined()) call.offer.messages = held<Messages>(info[8]);
  return hold(info.Env(), made.release());
}

// playCall(group, call, timeoutMillis: number): number, a Status; kWaiting after a while, since JavaScript ends a thread only outside of this
Napi::Value play_call(const Napi::CallbackInfo& info) {
  const auto pause = Clock::now() + std::chrono::milliseconds(500);
  return status_of(info.Env(), group_of(info[0]).play(call_of(info[1]).call, Group::deadline_after(timeout_of(info[2])), pause));
}

// tryCall(group, call, patienceMicros: number, sliceMicros: number): number, a Status
Napi::Value try_call(const Napi::CallbackInfo& info) {
  return status_of(info.Env(), held<HeldGroup>(info[0]).try_play(call_of(info[1]), std::chrono::microseconds(integer_of(info[2])), std::chrono::microseconds(integer_of(info[3]))));
}

// copiedBytes(group, call): number, in and out, where it is staged
Napi::Value copied_bytes(const Napi::CallbackInfo& info) {
  const HeldCall& call = call_of(info[1]);
  return Napi::Number::New(info.Env(), static_cast<double>(held<HeldGroup>(info[0]).staging().copied_bytes(call.call.offer, call.losable)));
}

// stage(group, call): boolean; false where it has to wait for a call before. What may be taken away is copied, and its memory is free.
Napi::Value stage(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), held<HeldGroup>(info[0]).stage(call_of(info[1])));
}

// submit(group, call, id: number, timeoutMillis: number), of a call that was staged
Napi::Value submit(const Napi::CallbackInfo& info) {
  held<HeldGroup>(info[0]).submit(call_of(info[1]), info[2].As<Napi::Number>().Uint32Value(), timeout_of(info[3]));
  return info.Env().Undefined();
}

// finish(group, call, delivers: boolean), of a call that was staged; its result is written to its outputs, which must be there
Napi::Value finish_call(const Napi::CallbackInfo& info) {
  held<HeldGroup>(info[0]).finish(call_of(info[1]), info[2].As<Napi::Boolean>());
  return info.Env().Undefined();
}

// results(group): number[], the id and the Status of each call that has ended
Napi::Value results(const Napi::CallbackInfo& info) {
  const auto ended = held<HeldGroup>(info[0]).take_results();
  Napi::Array list = Napi::Array::New(info.Env(), 2 * ended.size());
  std::uint32_t next = 0;
  for (const auto& [id, status] : ended) {
    list.Set(next++, Napi::Number::New(info.Env(), id));
    list.Set(next++, status_of(info.Env(), status));
  }
  return list;
}

// tellOpened(group): says to the others that this member has opened the group
Napi::Value tell_opened(const Napi::CallbackInfo& info) {
  group_of(info[0]).monitor().tell_opened();
  return info.Env().Undefined();
}

// unopened(group): number[], who has not said so
Napi::Value unopened(const Napi::CallbackInfo& info) { return list_of(info.Env(), group_of(info[0]).monitor().unopened()); }

// failGroup(group, kind: number, rank: number, text: string)
Napi::Value fail_group(const Napi::CallbackInfo& info) {
  const auto kind = static_cast<FailureKind>(integer_of(info[1]));
  group_of(info[0]).monitor().fail({kind, integer_of(info[2]), info[3].ToString()});
  return info.Env().Undefined();
}

// failure(group): [kind: number, rank: number, text: string] | undefined
Napi::Value failure(const Napi::CallbackInfo& info) {
  Group& group = group_of(info[0]);
  if (!group.has_failed()) return info.Env().Undefined();
  const Failure found = group.monitor().settled_failure();
  Napi::Array result = Napi::Array::New(info.Env(), 3);
  result.Set(0u, static_cast<int>(found.kind));
  result.Set(1u, found.rank);
  result.Set(2u, found.text);
  return result;
}

// missing(group): number[], who has not come to the call that has expired
Napi::Value missing(const Napi::CallbackInfo& info) { return list_of(info.Env(), group_of(info[0]).missing()); }

// absent(group): number[], who was not seen to have come to the call under way
Napi::Value absent(const Napi::CallbackInfo& info) { return list_of(info.Env(), group_of(info[0]).absent()); }

// states(group): (number[] | undefined)[], what each rank asks for in the collective that they disagree about
Napi::Value states(const Napi::CallbackInfo& info) {
  const auto& states = group_of(info[0]).states();
  Napi::Array list = Napi::Array::New(info.Env(), states.size());
  for (std::uint32_t rank = 0; rank < states.size(); ++rank) {
    if (!states[rank]) continue;
    Napi::Array words = Napi::Array::New(info.Env(), kStateWords);
    for (std::uint32_t i = 0; i < kStateWords; ++i) words.Set(i, (*states[rank])[i]);
    list.Set(rank, words);
  }
  return list;
}

// leave(group): begins to; the group wakes JavaScript when `hasParted`
Napi::Value leave(const Napi::CallbackInfo& info) {
  held<HeldGroup>(info[0]).leave();
  return info.Env().Undefined();
}

// hasParted(group): boolean
Napi::Value has_parted(const Napi::CallbackInfo& info) { return Napi::Boolean::New(info.Env(), held<HeldGroup>(info[0]).has_parted()); }

// stopGroup(group): ends its threads and connections
Napi::Value stop_group(const Napi::CallbackInfo& info) {
  held<HeldGroup>(info[0]).stop();
  return info.Env().Undefined();
}

}  // namespace

void add_processes(Napi::Object exports) {
  Napi::Object processes = Napi::Object::New(exports.Env());
  add<take_socket>(processes, "takeSocket");
  add<close_socket>(processes, "closeSocket");
  add_segments(processes);
  add<make_group>(processes, "group");
  add<play_shared>(processes, "playShared");
  add<play_messages>(processes, "playMessages");
  add<make_message_program>(processes, "messageProgram");
  add<make_call>(processes, "call");
  add<play_call>(processes, "playCall");
  add<try_call>(processes, "tryCall");
  add<copied_bytes>(processes, "copiedBytes");
  add<stage>(processes, "stage");
  add<submit>(processes, "submit");
  add<finish_call>(processes, "finish");
  add<results>(processes, "results");
  add<tell_opened>(processes, "tellOpened");
  add<unopened>(processes, "unopened");
  add<fail_group>(processes, "failGroup");
  add<failure>(processes, "failure");
  add<missing>(processes, "missing");
  add<absent>(processes, "absent");
  add<states>(processes, "states");
  add<leave>(processes, "leave");
  add<has_parted>(processes, "hasParted");
  add<stop_group>(processes, "stopGroup");
  exports.Set("processes", processes);
}

}  // namespace coll

#else

namespace coll {

void add_processes(Napi::Object) {}

}  // namespace coll

#endif

#include "exports.h"

#if defined(__linux__)

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../messages/message_player.h"
#include "../messages/message_program.h"
#include "../messages/tcp_channel.h"
#include "../processes/group.h"
#include "../shared/shared_player.h"
#include "memory.h"
#include "offers.h"
#include "process_group.h"

namespace coll {
namespace {

using SharedSegment = std::shared_ptr<Segment>;
using Memory = std::shared_ptr<SharedMemory>;
using Messages = std::shared_ptr<const MessageProgram>;

Group& group_of(const Napi::Value& value) { return held<HeldGroup>(value).group(); }
Call& call_of(const Napi::Value& value) { return held<Call>(value); }

std::chrono::microseconds timeout_of(const Napi::Value& millis) {
  // A hundred years are for ever.
  constexpr double kMost = 3.2e12;
  const double count = std::clamp(millis.As<Napi::Number>().DoubleValue(), 0.0, kMost);
  return std::chrono::microseconds(static_cast<std::int64_t>(count * 1000));
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

// segment(maxBytes: number): [External, card: Uint8Array]
Napi::Value make_segment(const Napi::CallbackInfo& info) {
  const double most = info[0].As<Napi::Number>().DoubleValue();
  const auto segment = most > 0 ? Segment::create(static_cast<std::size_t>(most)) : Segment::create();
  const SegmentCard& card = segment->card();
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), sizeof card);
  std::memset(bytes.Data(), 0, sizeof card);
  std::memcpy(bytes.Data(), &card, sizeof card);
  Napi::Array result = Napi::Array::New(info.Env(), 2);
  result.Set(0u, hold(info.Env(), new SharedSegment(segment)));
  result.Set(1u, bytes);
  return result;
}

// openSegment(card: Uint8Array, rank: number): External; leaves the mark of this rank there
Napi::Value open_segment(const Napi::CallbackInfo& info) {
  SegmentCard card{};
  if (info[0].As<Napi::TypedArray>().ByteLength() != sizeof card) throw Error("a card of shared memory has another size");
  std::memcpy(&card, address_of(info[0]), sizeof card);
  SharedSegment segment = Segment::open(card);
  segment->leave_mark(integer_of(info[1]));
  return hold(info.Env(), new SharedSegment(std::move(segment)));
}

// hasMark(segment, rank: number): boolean
Napi::Value has_mark(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), held<SharedSegment>(info[0])->has_mark_of(integer_of(info[1])));
}

// sharedMemory(rank: number, segments: External[]): External
Napi::Value shared_memory(const Napi::CallbackInfo& info) {
  const Napi::Array list = info[1].As<Napi::Array>();
  std::vector<SharedSegment> segments;
  for (std::uint32_t i = 0; i < list.Length(); ++i) segments.push_back(held<SharedSegment>(list.Get(i)));
  return hold(info.Env(), new Memory(std::make_shared<SharedMemory>(integer_of(info[0]), std::move(segments))));
}

// allocate(memory, bytes: number): ArrayBuffer; the memory lives as long as that
Napi::Value allocate(const Napi::CallbackInfo& info) {
  const Memory& memory = held<Memory>(info[0]);
  const auto bytes = static_cast<std::size_t>(info[1].As<Napi::Number>().DoubleValue());
  std::byte* const data = memory->allocate(bytes);
  const auto free = [](Napi::Env, void* data, Memory* memory) {
    (*memory)->free(static_cast<std::byte*>(data));
    delete memory;
  };
  return Napi::ArrayBuffer::New(info.Env(), data, bytes, free, new Memory(memory));
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
  group.take(std::make_unique<SharedPlayer>(memory, group.rank(), memory->size(), integer_of(info[2]), group.failure_word()));
  return info.Env().Undefined();
}

// playMessages(group, sockets: Int32Array[], generation: number, cores: number), the sockets by rank
Napi::Value play_messages(const Napi::CallbackInfo& info) {
  Group& group = group_of(info[0]);
  const Napi::Array lists = info[1].As<Napi::Array>();
  std::vector<std::unique_ptr<Channel>> channels;
  for (std::uint32_t rank = 0; rank < lists.Length(); ++rank) {
    const Napi::Int32Array list = Napi::Value(lists.Get(rank)).As<Napi::Int32Array>();
    std::vector<int> sockets(list.Data(), list.Data() + list.ElementLength());
    channels.push_back(sockets.empty() ? nullptr : std::make_unique<TcpChannel>(std::move(sockets)));
  }
  const int size = static_cast<int>(lists.Length());
  Monitor& monitor = group.monitor();
  const auto lost = [&monitor](int rank, int) { monitor.suspect(rank); };
  const std::uint32_t generation = info[2].As<Napi::Number>().Uint32Value();
  group.take(std::make_unique<MessagePlayer>(std::move(channels), group.rank(), size, integer_of(info[3]), generation, group.failure_word(), lost));
  return info.Env().Undefined();
}

// messageProgram(words: Int32Array, rank: number): External
Napi::Value make_message_program(const Napi::CallbackInfo& info) {
  const std::size_t count = info[0].As<Napi::TypedArray>().ElementLength();
  const auto* words = reinterpret_cast<const std::int32_t*>(address_of(info[0]));
  return hold(info.Env(), new Messages(std::make_shared<const MessageProgram>(parse_message_program(words, count, integer_of(info[1])))));
}

// call(program, rank, begins, inputs, outputs, sharesResult, agreed, state: Float64Array, messages?): External
Napi::Value make_call(const Napi::CallbackInfo& info) {
  auto call = std::make_unique<Call>();
  call->offer = offer_from(info);
  const std::vector<double> state = numbers_of(info[7]);
  if (state.size() != kStateWords) throw Error("a state has another number of words");
  std::copy(state.begin(), state.end(), call->state.begin());
  if (!info[8].IsUndefined()) call->offer.messages = held<Messages>(info[8]);
  return hold(info.Env(), call.release());
}

// playCall(group, call, timeoutMillis: number): number, a Status
Napi::Value play_call(const Napi::CallbackInfo& info) {
  return status_of(info.Env(), group_of(info[0]).play(call_of(info[1]), Group::deadline_after(timeout_of(info[2]))));
}

// tryCall(group, call, micros: number): number, a Status
Napi::Value try_call(const Napi::CallbackInfo& info) {
  return status_of(info.Env(), group_of(info[0]).try_play(call_of(info[1]), std::chrono::microseconds(integer_of(info[2]))));
}

// submit(group, call, id: number, timeoutMillis: number)
Napi::Value submit(const Napi::CallbackInfo& info) {
  held<HeldGroup>(info[0]).submit(info.Env(), {info[2].As<Napi::Number>().Uint32Value(), &call_of(info[1]), timeout_of(info[3])});
  return info.Env().Undefined();
}

// results(group): number[], the id and the Status of each call that has ended
Napi::Value results(const Napi::CallbackInfo& info) {
  const auto ended = held<HeldGroup>(info[0]).take_results(info.Env());
  Napi::Array list = Napi::Array::New(info.Env(), 2 * ended.size());
  std::uint32_t next = 0;
  for (const auto& [id, status] : ended) {
    list.Set(next++, Napi::Number::New(info.Env(), id));
    list.Set(next++, status_of(info.Env(), status));
  }
  return list;
}

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

Napi::Value list_of(Napi::Env env, const std::vector<int>& ranks) {
  Napi::Array list = Napi::Array::New(env, ranks.size());
  for (std::uint32_t i = 0; i < ranks.size(); ++i) list.Set(i, ranks[i]);
  return list;
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
  held<HeldGroup>(info[0]).leave(info.Env());
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
  add<make_segment>(processes, "segment");
  add<open_segment>(processes, "openSegment");
  add<has_mark>(processes, "hasMark");
  add<shared_memory>(processes, "sharedMemory");
  add<allocate>(processes, "allocate");
  add<make_group>(processes, "group");
  add<play_shared>(processes, "playShared");
  add<play_messages>(processes, "playMessages");
  add<make_message_program>(processes, "messageProgram");
  add<make_call>(processes, "call");
  add<play_call>(processes, "playCall");
  add<try_call>(processes, "tryCall");
  add<submit>(processes, "submit");
  add<results>(processes, "results");
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

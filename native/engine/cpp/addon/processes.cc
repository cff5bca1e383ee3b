#include "exports.h"

#if defined(__linux__)

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "../kernels/crc32c.h"
#include "../sealing/sealed_stream.h"
#include "executors.h"
#include "memory.h"
#include "process_calls.h"
#include "process_group.h"
#include "segments.h"

namespace coll {
namespace {

Napi::Value list_of(Napi::Env env, const std::vector<int>& ranks) {
  Napi::Array list = Napi::Array::New(env, ranks.size());
  for (std::uint32_t i = 0; i < ranks.size(); ++i) list.Set(i, ranks[i]);
  return list;
}

std::vector<bool> flags_of(const Napi::Value& list, const char* name, std::size_t size) {
  const Napi::Array flags = array_of(list, name, size);
  std::vector<bool> found(size);
  for (std::uint32_t i = 0; i < size; ++i) found[i] = flag_of(flags.Get(i), name);
  return found;
}

// What seals the connection with each rank: 64 bytes, or none.
std::vector<std::optional<Seal>> seals_of(const Napi::Value& list, std::size_t size) {
  const Napi::Array seals = array_of(list, "seals", size);
  std::vector<std::optional<Seal>> found(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const Elements bytes = elements_of(seals.Get(rank), napi_uint8_array, "seals", 0);
    if (bytes.count == 0) continue;
    if (bytes.count != sizeof(Seal)) throw WrongArgument("seals must have 64 bytes each, or none, got " + std::to_string(bytes.count));
    std::memcpy(&found[rank].emplace(), bytes.begin, sizeof(Seal));
  }
  if (!sealing_problem().empty() && std::any_of(found.begin(), found.end(), [](const auto& seal) { return seal.has_value(); })) throw Error(sealing_problem());
  return found;
}

// crc32c(crc: number, bytes: Uint8Array): number, the CRC32C of bytes that follow others, whose CRC32C
// is `crc`; 0 if none precede
Napi::Value crc32c_of(const Napi::CallbackInfo& info) {
  const auto crc = static_cast<std::uint32_t>(count_of(info[0], "crc", UINT32_MAX));
  const Elements bytes = elements_of(info[1], napi_uint8_array, "bytes", 0);
  return Napi::Number::New(info.Env(), crc32c(crc, bytes.begin, bytes.count));
}

// sealing(): [cipher: string, problem: string], the TLS suite that this processor prefers, and why
// nothing can be sealed, if so
Napi::Value sealing(const Napi::CallbackInfo& info) {
  Napi::Array result = Napi::Array::New(info.Env(), 2);
  result.Set(0u, preferred_cipher());
  result.Set(1u, sealing_problem());
  return result;
}

// group(rank: number, sockets: Int32Array, seals: Uint8Array[], checksummed: boolean[],
//   silenceMillis: number, wake: () => void): External
Napi::Value make_group(const Napi::CallbackInfo& info) {
  const Elements sockets = elements_of(info[1], napi_int32_array, "sockets", 1);
  if (!info[5].IsFunction()) throw WrongArgument("wake must be a function, got " + description_of(info[5]));
  Watch watch;
  watch.rank = integer_of(info[0], "rank", 0, static_cast<int>(sockets.count) - 1);
  watch.silence = std::chrono::milliseconds(integer_of(info[4], "silenceMillis", 1, INT_MAX - 1));
  watch.seals = seals_of(info[2], sockets.count);
  watch.checksummed = flags_of(info[3], "checksummed", sockets.count);
  for (std::size_t rank = 0; rank < sockets.count; ++rank) {
    if (watch.seals[rank] && watch.checksummed[rank]) throw WrongArgument("checksummed must be false for a rank with a seal");
  }
  const auto* const first = reinterpret_cast<const int*>(sockets.begin);
  watch.sockets.assign(first, first + sockets.count);
  return hold(info.Env(), new HeldGroup(info.Env(), std::move(watch), info[5].As<Napi::Function>()));
}

// tellOpened(group): reports to the other members that this one has opened the group
Napi::Value tell_opened(const Napi::CallbackInfo& info) {
  group_of(info[0]).monitor().tell_opened();
  return info.Env().Undefined();
}

// unopened(group): number[], the ranks that have not reported that they have opened the group
Napi::Value unopened(const Napi::CallbackInfo& info) { return list_of(info.Env(), group_of(info[0]).monitor().unopened()); }

// left(group): number[], the ranks that have left the group
Napi::Value left(const Napi::CallbackInfo& info) { return list_of(info.Env(), group_of(info[0]).monitor().leavers()); }

// enclose(group, ranks: number): from now on failures may name ranks of the enclosing group, which
// has that many ranks
Napi::Value enclose(const Napi::CallbackInfo& info) {
  group_of(info[0]).monitor().enclose(integer_of(info[1], "ranks", 1, kMostRank));
  return info.Env().Undefined();
}

// failGroup(group, kind: number, rank: number, ranks: Int32Array, text: string)
Napi::Value fail_group(const Napi::CallbackInfo& info) {
  const auto kind = static_cast<FailureKind>(integer_of(info[1], "kind", 0, kFailureKindCount - 1));
  // -1 if no rank is the cause.
  const int rank = integer_of(info[2], "rank", -1, kMostRank);
  const Elements ranks = elements_of(info[3], napi_int32_array, "ranks", 0);
  if (ranks.count > kMostOtherRanks) throw WrongArgument("ranks must be at most " + std::to_string(kMostOtherRanks) + ", got " + std::to_string(ranks.count));
  const auto* const first = reinterpret_cast<const std::int32_t*>(ranks.begin);
  group_of(info[0]).monitor().fail({kind, rank, text_of(info[4], "text"), 0, {first, first + ranks.count}});
  return info.Env().Undefined();
}

// failure(group): [kind: number, rank: number, ranks: number[], text: string, lost: number[]] | undefined
Napi::Value failure(const Napi::CallbackInfo& info) {
  Group& group = group_of(info[0]);
  if (!group.has_failed()) return info.Env().Undefined();
  const Failure found = group.monitor().settled_failure();
  Napi::Array result = Napi::Array::New(info.Env(), 5);
  result.Set(0u, static_cast<int>(found.kind));
  result.Set(1u, found.rank);
  result.Set(2u, list_of(info.Env(), found.ranks));
  result.Set(3u, found.text);
  result.Set(4u, list_of(info.Env(), found.lost));
  return result;
}

// missing(group): number[], the ranks that had not arrived at the call that expired
Napi::Value missing(const Napi::CallbackInfo& info) { return list_of(info.Env(), group_of(info[0]).missing()); }

// absent(group): number[], the ranks that are not known to have arrived at the current call
Napi::Value absent(const Napi::CallbackInfo& info) { return list_of(info.Env(), group_of(info[0]).absent()); }

// quietMillis(group): (number | undefined)[], since when the event loop of each rank has not turned, if it has answered
Napi::Value quiet_millis(const Napi::CallbackInfo& info) {
  const auto quiet = group_of(info[0]).quiet_millis();
  Napi::Array list = Napi::Array::New(info.Env(), quiet.size());
  for (std::uint32_t rank = 0; rank < quiet.size(); ++rank) {
    if (quiet[rank]) list.Set(rank, *quiet[rank]);
  }
  return list;
}

// noteTurn(group): number[] | undefined; records that the event loop turns. Returns the ranks that were silent
// and are heard again since the last turn, each with milliseconds.
Napi::Value note_turn(const Napi::CallbackInfo& info) {
  Group& group = group_of(info[0]);
  group.note_turn();
  const std::vector<Silence> silences = group.monitor().take_silences();
  if (silences.empty()) return info.Env().Undefined();
  Napi::Array list = Napi::Array::New(info.Env(), 2 * silences.size());
  std::uint32_t next = 0;
  for (const Silence& silence : silences) {
    list.Set(next++, silence.rank);
    list.Set(next++, static_cast<double>(silence.length.count()));
  }
  return list;
}

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

// leave(group, delayMillis: number): leaves after that time; the group wakes JavaScript when `hasParted`
Napi::Value leave(const Napi::CallbackInfo& info) {
  held<HeldGroup>(info[0]).leave(std::chrono::milliseconds(integer_of(info[1], "delayMillis", 0, INT_MAX)));
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
  add_segments(processes);
  add_executors(processes);
  add_calls(processes);
  add<crc32c_of>(processes, "crc32c");
  add<sealing>(processes, "sealing");
  add<make_group>(processes, "group");
  add<tell_opened>(processes, "tellOpened");
  add<unopened>(processes, "unopened");
  add<left>(processes, "left");
  add<enclose>(processes, "enclose");
  add<fail_group>(processes, "failGroup");
  add<failure>(processes, "failure");
  add<missing>(processes, "missing");
  add<absent>(processes, "absent");
  add<quiet_millis>(processes, "quietMillis");
  add<note_turn>(processes, "noteTurn");
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

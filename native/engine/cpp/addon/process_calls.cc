#include "process_calls.h"

#if defined(__linux__)

#include <algorithm>

#include "../messages/message_program.h"
#include "exports.h"
#include "memory.h"
#include "offers.h"
#include "process_group.h"

namespace coll {
namespace {

using Messages = std::shared_ptr<const MessageProgram>;

HeldCall& call_of(const Napi::Value& value) { return held<HeldCall>(value); }

std::chrono::microseconds timeout_of(const Napi::Value& millis) {
  // A hundred years are for ever.
  constexpr double kMost = 3.2e12;
  const double count = std::clamp(millis.As<Napi::Number>().DoubleValue(), 0.0, kMost);
  return std::chrono::microseconds(static_cast<std::int64_t>(count * 1000));
}

Napi::Value status_of(Napi::Env env, Status status) { return Napi::Number::New(env, static_cast<int>(status)); }

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
  const bool has_timeout = info[2].As<Napi::Number>().DoubleValue() > 0;
  const Group::Deadline deadline = has_timeout ? Group::deadline_after(timeout_of(info[2])) : std::nullopt;
  return status_of(info.Env(), group_of(info[0]).play(call_of(info[1]).call, deadline, std::chrono::milliseconds(500)));
}

// tryCall(group, call, patienceMicros: number, sliceMicros: number): number, a Status
Napi::Value try_call(const Napi::CallbackInfo& info) {
  const std::chrono::microseconds patience(integer_of(info[2]));
  const std::chrono::microseconds slice(integer_of(info[3]));
  return status_of(info.Env(), held<HeldGroup>(info[0]).try_play(call_of(info[1]), patience, slice));
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

}  // namespace

void add_calls(Napi::Object exports) {
  add<make_message_program>(exports, "messageProgram");
  add<make_call>(exports, "call");
  add<play_call>(exports, "playCall");
  add<try_call>(exports, "tryCall");
  add<copied_bytes>(exports, "copiedBytes");
  add<stage>(exports, "stage");
  add<submit>(exports, "submit");
  add<finish_call>(exports, "finish");
  add<results>(exports, "results");
}

}  // namespace coll

#endif

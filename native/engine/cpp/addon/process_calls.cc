#include "process_calls.h"

#if defined(__linux__)

#include <algorithm>
#include <climits>
#include <string>

#include "../messages/message_program.h"
#include "../record/call_stamp.h"
#include "exports.h"
#include "memory.h"
#include "offers.h"
#include "process_group.h"

namespace coll {
namespace {

using MessageProgramPointer = std::shared_ptr<const MessageProgram>;

}  // namespace

template <>
inline constexpr HandleKind kHandle<MessageProgramPointer> = handle_kind("message program", 10);

namespace {

HeldCall& call_of(const Napi::Value& value) { return held<HeldCall>(value); }

std::chrono::microseconds timeout_of(const Napi::Value& millis) {
  // A hundred years in milliseconds: no limit in practice.
  constexpr double kMost = 3.2e12;
  const double count = amount_of(millis, "timeoutMillis");
  return std::chrono::microseconds(count > 0 ? static_cast<std::int64_t>(std::min(count, kMost) * 1000) : 0);
}

Napi::Value status_of(Napi::Env env, Status status) { return Napi::Number::New(env, static_cast<int>(status)); }

Napi::Value ended(Napi::Env env, const CallStamp& stamp, Status status) {
  if (status == Status::kDone) stamp.end();
  return status_of(env, status);
}

// messageProgram(words: Int32Array, rank: number): External
Napi::Value make_message_program(const Napi::CallbackInfo& info) {
  const Elements words = elements_of(info[0], napi_int32_array, "words");
  const int rank = integer_of(info[1], "rank", 0, kMostRanks - 1);
  const auto* const first = reinterpret_cast<const std::int32_t*>(words.begin);
  const auto parse = [&] { return std::make_shared<const MessageProgram>(parse_message_program(first, words.count, rank)); };
  return hold(info.Env(), new MessageProgramPointer(parsed("words", parse)));
}

MessageProgramPointer messages_for(const Offer& offer, const Napi::Value& handle) {
  const MessageProgramPointer& messages = held<MessageProgramPointer>(handle);
  if (messages->rank == offer.rank && messages->asks_for_same_as(*offer.program)) return messages;
  throw WrongArgument("message program must be of the same rank and request as the program");
}

HeldCall call_from(const Napi::CallbackInfo& info, std::size_t first) {
  HeldCall made;
  Call& call = made.call;
  call.offer = offer_from(info, first);
  made.detachable = {are_detachable(info[first + 3]), are_detachable(info[first + 4])};
  const std::vector<double> state = numbers_of(info[first + 7], "state");
  if (state.size() != kStateWords) throw WrongArgument("state must have " + std::to_string(kStateWords) + " words, got " + std::to_string(state.size()));
  std::copy(state.begin(), state.end(), call.state.begin());
  const Napi::Value messages = info[first + 8];
  if (!messages.IsUndefined()) call.offer.messages = messages_for(call.offer, messages);
  return made;
}

bool has_clash(const HeldCall& held_call) {
  const Offer* const offer = &held_call.call.offer;
  return static_cast<bool>(find_clash(&offer, 1));
}

// call(program, rank, begins, inputs, outputs, sharesResult, agreed, state: Float64Array,
// messages?):
//   External | undefined
// undefined: an output overlaps memory of another piece.
Napi::Value make_call(const Napi::CallbackInfo& info) {
  HeldCall made = call_from(info, 0);
  if (has_clash(made)) return info.Env().Undefined();
  return hold(info.Env(), new HeldCall(std::move(made)));
}

// refillCall(call, program, ...): boolean; makes a new call in the handle of a call that has ended.
// Returns false, and keeps the old call, if an output overlaps memory of another piece.
Napi::Value refill_call(const Napi::CallbackInfo& info) {
  HeldCall& old = call_of(info[0]);
  if (old.staging_buffer) throw WrongArgument("call must be one that has ended");
  HeldCall made = call_from(info, 1);
  const bool is_sound = !has_clash(made);
  if (is_sound) old = std::move(made);
  return Napi::Boolean::New(info.Env(), is_sound);
}

// executeCall(group, call, timeoutMillis: number): number, a Status. Returns kWaiting after a
// while, since JavaScript can end a thread only outside of this call.
Napi::Value execute_call(const Napi::CallbackInfo& info) {
  HeldCall& held_call = call_of(info[1]);
  Group& group = held<HeldGroup>(info[0]).group_for(held_call);
  const auto deadline = Group::deadline_after(timeout_of(info[2]));
  const CallStamp stamp;
  return ended(info.Env(), stamp, group.execute(held_call.call, deadline, std::chrono::milliseconds(500)));
}

// tryCall(group, call, patienceMicros: number, sliceMicros: number): number, a Status
Napi::Value try_call(const Napi::CallbackInfo& info) {
  const std::chrono::microseconds patience(integer_of(info[2], "patienceMicros", 0, INT_MAX - 1));
  const std::chrono::microseconds time_slice(integer_of(info[3], "sliceMicros", 0, INT_MAX - 1));
  const CallStamp stamp;
  return ended(info.Env(), stamp, held<HeldGroup>(info[0]).try_execute(call_of(info[1]), patience, time_slice));
}

// copiedBytes(group, call): number of bytes copied, in and out, if the call is staged
Napi::Value copied_bytes(const Napi::CallbackInfo& info) {
  const HeldCall& call = call_of(info[1]);
  return Napi::Number::New(info.Env(), static_cast<double>(held<HeldGroup>(info[0]).staging_pool().copied_bytes(call.call.offer, call.detachable)));
}

// stage(group, call): boolean; false if it has to wait for an earlier call. Copies the inputs that
// JavaScript can detach; the call no longer uses their memory.
Napi::Value stage(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), held<HeldGroup>(info[0]).stage(call_of(info[1])));
}

// submit(group, call, id: number, timeoutMillis: number), for a staged call
Napi::Value submit(const Napi::CallbackInfo& info) {
  held<HeldGroup>(info[0]).submit(call_of(info[1]), static_cast<std::uint32_t>(count_of(info[2], "id", UINT32_MAX)), timeout_of(info[3]));
  return info.Env().Undefined();
}

// finish(group, call, delivers: boolean), for a staged call. `delivers`: copies the result to the
// outputs, whose memory must still exist.
Napi::Value finish_call(const Napi::CallbackInfo& info) {
  held<HeldGroup>(info[0]).finish(call_of(info[1]), flag_of(info[2], "delivers"));
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
  add<refill_call>(exports, "refillCall");
  add<execute_call>(exports, "executeCall");
  add<try_call>(exports, "tryCall");
  add<copied_bytes>(exports, "copiedBytes");
  add<stage>(exports, "stage");
  add<submit>(exports, "submit");
  add<finish_call>(exports, "finish");
  add<results>(exports, "results");
}

}  // namespace coll

#endif

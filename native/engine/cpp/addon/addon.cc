#include <napi.h>

#include "../kernels/fold.h"
#include "../threads/controller.h"
#include "../threads/member.h"
#include "exports.h"
#include "memory.h"
#include "offers.h"

namespace coll {
namespace {

// Raised with every change of what is exported, or of the integers of a program: an older binary is refused then.
constexpr int kInterface = 6;

// boardBytes(ranks: number): number
Napi::Value board_bytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(Board::bytes_for(integer_of(info[0]))));
}

// join(board: Uint8Array, failure: Int32Array, arrival: Int32Array, rank: number, ranks: number, cores: number): External
// An arrival is two words: how far this rank has come, and how many event loops wait for that.
// The memory of the arrays must live as long as the member.
Napi::Value join(const Napi::CallbackInfo& info) {
  auto* const arrival = reinterpret_cast<std::atomic<std::int32_t>*>(address_of(info[2]));
  const Control control{reinterpret_cast<const std::atomic<std::int32_t>*>(address_of(info[1])), arrival, arrival + 1};
  return hold(info.Env(), new Member(Board::in(address_of(info[0])), control, integer_of(info[3]), integer_of(info[4]), integer_of(info[5])));
}

// play(member, offer, wait: number, a Wait): number, a Status
Napi::Value play(const Napi::CallbackInfo& info) {
  const Status status = held<Member>(info[0]).play(held<Offer>(info[1]), static_cast<Wait>(integer_of(info[2])));
  return Napi::Number::New(info.Env(), static_cast<int>(status));
}

// abandon(member)
Napi::Value abandon(const Napi::CallbackInfo& info) {
  held<Member>(info[0]).abandon();
  return info.Env().Undefined();
}

// meeting(member): number, the latest one, as the ranks' arrivals are counted
Napi::Value meeting(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<std::int32_t>(held<Member>(info[0]).meeting()));
}

// isMissing(member, rank: number): boolean
Napi::Value is_missing(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), held<Member>(info[0]).is_missing(integer_of(info[1])));
}

// clash(member): [rank, rank] | undefined; undefined where offers are not of the same pieces
Napi::Value clash(const Napi::CallbackInfo& info) {
  const Clash found = held<Member>(info[0]).clash();
  if (!found || found.differs) return info.Env().Undefined();
  Napi::Array pair = Napi::Array::New(info.Env(), 2);
  pair.Set(0u, found.rank);
  pair.Set(1u, found.other);
  return pair;
}

// controller(ranks: number, cores: number): External
Napi::Value make_controller(const Napi::CallbackInfo& info) {
  return hold(info.Env(), new std::unique_ptr<Controller>(new Controller(integer_of(info[0]), integer_of(info[1]))));
}

// control(controller, deal, begin: number): number, the element at which it ended
Napi::Value control(const Napi::CallbackInfo& info) {
  const Deal& deal = held<Deal>(info[1]);
  const auto begin = static_cast<std::size_t>(info[2].As<Napi::Number>().DoubleValue());
  const std::size_t end = held<std::unique_ptr<Controller>>(info[0])->play(deal.pointers.data(), begin);
  return Napi::Number::New(info.Env(), static_cast<double>(end));
}

// close(controller): ends its threads
Napi::Value close(const Napi::CallbackInfo& info) {
  held<std::unique_ptr<Controller>>(info[0]).reset();
  return info.Env().Undefined();
}

Napi::Object fill(Napi::Object exports) {
  exports.Set("interface", kInterface);
  exports.Set("simd", simd_name());
  add<board_bytes>(exports, "boardBytes");
  add<make_program>(exports, "program");
  add<make_offer>(exports, "offer");
  add<join>(exports, "join");
  add<play>(exports, "play");
  add<abandon>(exports, "abandon");
  add<meeting>(exports, "meeting");
  add<is_missing>(exports, "isMissing");
  add<clash>(exports, "clash");
  add<make_deal>(exports, "deal");
  add<make_controller>(exports, "controller");
  add<control>(exports, "control");
  add<close>(exports, "close");
  add_processes(exports);
  return exports;
}

}  // namespace
}  // namespace coll

// Loaded by every worker thread anew: nothing here is global but the instructions in use and the number of the latest offer.
Napi::Object init_coll_native(Napi::Env env, Napi::Object exports) {
  // On Windows the first call of a function is what finds it in the running program, and GNU's code for that loses floating-point arguments.
  static_cast<void>(Napi::Number::New(env, 0));
  return coll::fill(exports);
}
NODE_API_MODULE(coll_native, init_coll_native)

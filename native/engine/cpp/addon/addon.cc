#include <napi.h>

#include "../kernels/fold.h"
#include "../record/call_stamp.h"
#include "../threads/controller.h"
#include "../threads/member.h"
#include "exports.h"
#include "handles.h"
#include "host_probe.h"
#include "memory.h"
#include "offers.h"
#include "records.h"
#include "thresholds.h"

namespace coll {
namespace {

// A member and the arrays that it accesses, which must live as long as it does.
struct HeldMember {
  Napi::ObjectReference arrays[3];
  Member member;
};

using HeldController = std::unique_ptr<Controller>;

}  // namespace

template <>
inline constexpr HandleKind kHandle<HeldMember> = handle_kind("member", 4);
template <>
inline constexpr HandleKind kHandle<HeldController> = handle_kind("controller", 5);

namespace {

// Increased with every change of the exports, or of the integers of a program, so that older
// binaries are refused.
constexpr int kInterface = 19;

constexpr int kMostCores = 1 << 16;

int ranks_of(const Napi::Value& number) { return integer_of(number, "ranks", 1, kMostRanks); }

int cores_of(const Napi::Value& number) { return integer_of(number, "cores", 1, kMostCores); }

Member& member_of(const Napi::Value& handle) { return held<HeldMember>(handle).member; }

// boardBytes(ranks: number): number
Napi::Value board_bytes(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(Board::bytes_for(ranks_of(info[0]))));
}

// join(board: Uint8Array, failure: Int32Array, arrival: Int32Array, rank: number, ranks: number,
//   cores: number, thresholds: number[]): External
// `arrival` has two words: this rank's latest meeting, and the number of event loops that wait for
// it.
Napi::Value join(const Napi::CallbackInfo& info) {
  const int ranks = ranks_of(info[4]);
  const int rank = integer_of(info[3], "rank", 0, ranks - 1);
  std::byte* const board = shared_elements_of(info[0], napi_uint8_array, "board", Board::bytes_for(ranks)).begin;
  const auto* const failure = reinterpret_cast<const std::atomic<std::int32_t>*>(shared_elements_of(info[1], napi_int32_array, "failure", 1).begin);
  auto* const arrival = reinterpret_cast<std::atomic<std::int32_t>*>(shared_elements_of(info[2], napi_int32_array, "arrival", 2).begin);
  const auto array = [&](std::size_t index) { return Napi::Persistent(info[index].As<Napi::Object>()); };
  const Control control{failure, arrival, arrival + 1};
  return hold(info.Env(), new HeldMember{{array(0), array(1), array(2)}, {Board::in(board), control, rank, ranks, cores_of(info[5]), thresholds_of(info[6])}});
}

// execute(member, offer, wait: number, a Wait): number, a Status
Napi::Value execute(const Napi::CallbackInfo& info) {
  Member& member = member_of(info[0]);
  Offer& offer = held<Offer>(info[1]);
  const auto wait = static_cast<Wait>(integer_of(info[2], "wait", 0, kWaitCount - 1));
  if (!member.may_execute(offer)) throw WrongArgument("offer must be of this member and, while a call is under way, of that call");
  const CallStamp stamp;
  const Status status = member.execute(offer, wait);
  if (status == Status::kDone) stamp.end();
  return Napi::Number::New(info.Env(), static_cast<int>(status));
}

// abandon(member)
Napi::Value abandon(const Napi::CallbackInfo& info) {
  member_of(info[0]).abandon();
  return info.Env().Undefined();
}

// meeting(member): number, the latest one, counted like the ranks' arrivals
Napi::Value meeting(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<std::int32_t>(member_of(info[0]).meeting()));
}

// isMissing(member, rank: number): boolean
Napi::Value is_missing(const Napi::CallbackInfo& info) {
  const Member& member = member_of(info[0]);
  return Napi::Boolean::New(info.Env(), member.is_missing(integer_of(info[1], "rank", 0, member.ranks() - 1)));
}

// clash(member): [rank, rank] | undefined; undefined if the offers have different pieces
Napi::Value clash(const Napi::CallbackInfo& info) {
  const Clash found = member_of(info[0]).clash();
  if (!found || found.differs) return info.Env().Undefined();
  Napi::Array pair = Napi::Array::New(info.Env(), 2);
  pair.Set(0u, found.rank);
  pair.Set(1u, found.other);
  return pair;
}

// controller(ranks: number, helpers: number, thresholds: number[]): External
Napi::Value make_controller(const Napi::CallbackInfo& info) {
  return hold(info.Env(), new HeldController(new Controller(ranks_of(info[0]), integer_of(info[1], "helpers", 0, Crew::kMostHelpers), thresholds_of(info[2]))));
}

// control(controller, offers, begin: number): number, the element at which it ended
Napi::Value control(const Napi::CallbackInfo& info) {
  const HeldController& controller = held<HeldController>(info[0]);
  const OffersOfAll& all = held<OffersOfAll>(info[1]);
  if (!controller) throw Error("this controller was closed");
  if (all.offers.size() != static_cast<std::size_t>(controller->ranks())) throw WrongArgument("offers must have as many ranks as the controller");
  const std::size_t length = all.offers[0].length;
  const std::size_t begin = count_of(info[2], "begin", length);
  const CallStamp stamp;
  const std::size_t end = controller->execute(all.pointers.data(), begin);
  if (end == length) stamp.end();
  return Napi::Number::New(info.Env(), static_cast<double>(end));
}

// close(controller): its helpers end with the last controller
Napi::Value close(const Napi::CallbackInfo& info) {
  held<HeldController>(info[0]).reset();
  return info.Env().Undefined();
}

Napi::Object fill(Napi::Object exports) {
  exports.Set("interface", kInterface);
  exports.Set("simd", simd_name());
  add<board_bytes>(exports, "boardBytes");
  add<make_program>(exports, "program");
  add<make_offer>(exports, "offer");
  add<refill_offer>(exports, "refillOffer");
  add<join>(exports, "join");
  add<execute>(exports, "execute");
  add<abandon>(exports, "abandon");
  add<meeting>(exports, "meeting");
  add<is_missing>(exports, "isMissing");
  add<clash>(exports, "clash");
  add<make_offers_of_all>(exports, "offersOfAll");
  add<refill_offers_of_all>(exports, "refillOffersOfAll");
  add<make_controller>(exports, "controller");
  add<control>(exports, "control");
  add<close>(exports, "close");
  add_calibration(exports);
  add_host_probe(exports);
  add_records(exports);
  add_processes(exports);
  return exports;
}

}  // namespace
}  // namespace coll

// Every worker thread loads the addon. The only state that all threads share: the instruction set
// in use, the number of the latest offer, and the handles that were checked.
Napi::Object init_coll_native(Napi::Env env, Napi::Object exports) {
  // On Windows, the first call of a Node-API function looks up its address in the running program.
  // GNU's code for that loses floating-point arguments, so the first call passes 0.
  static_cast<void>(Napi::Number::New(env, 0));
  return coll::fill(exports);
}
NODE_API_MODULE(coll_native, init_coll_native)

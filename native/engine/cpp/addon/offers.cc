#include "offers.h"

#include <atomic>
#include <memory>

#include "../error.h"
#include "memory.h"

namespace coll {
namespace {

using SharedProgram = std::shared_ptr<const Program>;

std::atomic<std::uint64_t> latest_id{0};

std::vector<std::size_t> begins_of(const Napi::Value& array) {
  const std::vector<double> numbers = numbers_of(array);
  if (numbers.size() < 2 || numbers.front() != 0) throw Error("an offer has one piece at least, and begins at 0");
  std::vector<std::size_t> begins;
  for (const double number : numbers) begins.push_back(static_cast<std::size_t>(number));
  return begins;
}

// Checks what would be read or written out of bounds otherwise; what users can get wrong was checked before.
void require_sound(const Offer& offer, int rank) {
  const Program& program = *offer.program;
  const std::size_t blocks = program.has_blocks() ? static_cast<std::size_t>(program.ranks) : 1;
  if (offer.length % blocks != 0) throw Error("a buffer does not divide among the ranks");
  if (program.has_blocks() && offer.piece_count() != 1) throw Error("a collective with blocks takes buffers in one piece");
  const std::size_t pieces = offer.piece_count();
  if (offer.buffers.inputs.size() != (program.reads(rank) ? pieces : 0)) throw Error("an offer lacks an input");
  if (offer.buffers.outputs.size() != (program.writes(rank) ? pieces : 0)) throw Error("an offer lacks an output");
}

Offer offer_of(const SharedProgram& program, const std::vector<std::size_t>& begins, const Napi::Value& inputs, const Napi::Value& outputs,
               bool shares_result) {
  Offer offer{};
  offer.program = program;
  offer.begins = begins;
  offer.length = begins.back();
  for (std::byte* address : addresses_of(inputs)) offer.buffers.inputs.push_back(address);
  offer.buffers.outputs = addresses_of(outputs);
  offer.shares_result = shares_result;
  offer.id = ++latest_id;
  return offer;
}

}  // namespace

Napi::Value make_program(const Napi::CallbackInfo& info) {
  const std::size_t count = info[0].As<Napi::TypedArray>().ElementLength();
  const auto* words = reinterpret_cast<const std::int32_t*>(address_of(info[0]));
  return hold(info.Env(), new SharedProgram(std::make_shared<const Program>(parse_program(words, count))));
}

Offer offer_from(const Napi::CallbackInfo& info) {
  const SharedProgram& program = held<SharedProgram>(info[0]);
  const int rank = integer_of(info[1]);
  const bool shares_result = info[5].As<Napi::Boolean>();
  Offer offer = offer_of(program, begins_of(info[2]), info[3], info[4], shares_result);
  require_sound(offer, rank);
  std::vector<double> agreed = numbers_of(info[6]);
  agreed.push_back(shares_result ? 1 : 0);
  agreed.push_back(static_cast<double>(offer.piece_count()));
  offer.fingerprint = fingerprint_of(agreed.data(), agreed.size());
  return offer;
}

Napi::Value make_offer(const Napi::CallbackInfo& info) { return hold(info.Env(), new Offer(offer_from(info))); }

Napi::Value make_deal(const Napi::CallbackInfo& info) {
  const SharedProgram& program = held<SharedProgram>(info[0]);
  const std::vector<std::size_t> begins = begins_of(info[1]);
  const Napi::Array inputs = info[2].As<Napi::Array>();
  const Napi::Array outputs = info[3].As<Napi::Array>();
  auto deal = std::make_unique<Deal>();
  for (int rank = 0; rank < program->ranks; ++rank) {
    const auto index = static_cast<std::uint32_t>(rank);
    deal->offers.push_back(offer_of(program, begins, inputs.Get(index), outputs.Get(index), info[4].As<Napi::Boolean>()));
    require_sound(deal->offers.back(), rank);
  }
  for (const Offer& offer : deal->offers) deal->pointers.push_back(&offer);
  const Clash clash = find_clash(deal->pointers.data(), program->ranks);
  if (!clash) return hold(info.Env(), deal.release());
  Napi::Array pair = Napi::Array::New(info.Env(), 2);
  pair.Set(0u, clash.rank);
  pair.Set(1u, clash.other);
  return pair;
}

}  // namespace coll

#include "offers.h"

#include <atomic>
#include <cmath>
#include <memory>

#include "memory.h"

namespace coll {
namespace {

std::atomic<std::uint64_t> latest_id{0};

// The type of the typed array that stores elements of each DType.
constexpr napi_typedarray_type kStorage[kDTypeCount] = {
    napi_uint16_array, napi_uint16_array,   napi_float32_array, napi_float64_array, napi_int8_array,   napi_int16_array,      napi_int32_array,
    napi_bigint64_array, napi_uint8_array, napi_uint16_array,  napi_uint32_array,  napi_biguint64_array, napi_uint8_array};

std::vector<std::size_t> begins_of(const Napi::Value& array) {
  constexpr double kMost = 9007199254740992;
  const std::vector<double> numbers = numbers_of(array, "begins");
  if (numbers.size() < 2 || numbers.front() != 0) throw WrongArgument("begins must start with 0 and end with the length of the buffer");
  std::vector<std::size_t> begins;
  double last = 0;
  for (const double number : numbers) {
    if (!(number >= last) || number > kMost || std::floor(number) != number) throw WrongArgument("begins must be whole numbers in ascending order");
    begins.push_back(static_cast<std::size_t>(number));
    last = number;
  }
  return begins;
}

void require_sound(const Offer& offer) {
  const Program& program = *offer.program;
  if (!program.has_blocks()) return;
  if (offer.piece_count() != 1) throw WrongArgument("a collective with blocks needs each buffer in one piece");
  if (offer.length % program.block_count() != 0) {
    throw WrongArgument("the length must be divisible by " + std::to_string(program.block_count()) + " blocks, got " + std::to_string(offer.length));
  }
}

// The addresses of the pieces of an input or output, which has `bytes` bytes in total; none if the
// rank does not use it. Throws if an array is shorter than its piece.
template <class Pointer>
std::vector<Pointer> pieces_of(const Napi::Value& arrays, const Offer& offer, bool is_used, DType dtype, std::size_t bytes, const char* what) {
  const Napi::Array list = array_of(arrays, what, is_used ? offer.piece_count() : 0);
  std::vector<Pointer> pieces(list.Length());
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    const std::size_t least = offer.bytes_of_piece(i, bytes) / byte_size(dtype);
    pieces[i] = elements_of(list.Get(i), kStorage[static_cast<int>(dtype)], what, least).begin;
  }
  return pieces;
}

Offer offer_of(const ProgramPointer& program, int rank, const std::vector<std::size_t>& begins, const Napi::Value& inputs, const Napi::Value& outputs,
               bool shares_result) {
  Offer offer{};
  offer.program = program;
  offer.rank = rank;
  offer.begins = begins;
  offer.length = begins.back();
  require_sound(offer);
  offer.buffers.inputs = pieces_of<const std::byte*>(inputs, offer, program->reads(rank), program->dtype, offer.input_bytes(), "inputs");
  const DType result = result_of(program->dtype, program->op);
  offer.buffers.outputs = pieces_of<std::byte*>(outputs, offer, program->writes(rank), result, offer.output_bytes(), "outputs");
  offer.shares_result = shares_result;
  offer.id = ++latest_id;
  return offer;
}

// Ranks in threads access each other's memory as their own offers describe it. So the offers must
// be alike, whatever the callers state as `agreed`.
std::uint64_t fingerprint_for_threads(const Offer& offer) {
  const Program& program = *offer.program;
  const double numbers[] = {static_cast<double>(offer.fingerprint >> 32), static_cast<double>(offer.fingerprint & 0xffffffff),
                            static_cast<double>(program.kind),            static_cast<double>(program.op),
                            static_cast<double>(program.dtype),           static_cast<double>(program.ranks),
                            static_cast<double>(program.root),            static_cast<double>(offer.length)};
  return fingerprint_of(numbers, std::size(numbers));
}

Offer offer_for_threads(const Napi::CallbackInfo& info, std::size_t first) {
  Offer offer = offer_from(info, first);
  offer.fingerprint = fingerprint_for_threads(offer);
  return offer;
}

OffersOfAll offers_of_all_from(const Napi::CallbackInfo& info, std::size_t first) {
  const ProgramPointer& program = held<ProgramPointer>(info[first]);
  const std::vector<std::size_t> begins = begins_of(info[first + 1]);
  const auto ranks = static_cast<std::size_t>(program->ranks);
  const Napi::Array inputs = array_of(info[first + 2], "inputs", ranks);
  const Napi::Array outputs = array_of(info[first + 3], "outputs", ranks);
  const bool shares_result = flag_of(info[first + 4], "sharesResult");
  OffersOfAll all;
  all.offers.reserve(ranks);
  for (int rank = 0; rank < program->ranks; ++rank) {
    const auto index = static_cast<std::uint32_t>(rank);
    all.offers.push_back(offer_of(program, rank, begins, inputs.Get(index), outputs.Get(index), shares_result));
  }
  for (const Offer& offer : all.offers) all.pointers.push_back(&offer);
  return all;
}

Clash clash_of(const OffersOfAll& all) { return find_clash(all.pointers.data(), static_cast<int>(all.offers.size())); }

Napi::Value pair_of(Napi::Env env, const Clash& clash) {
  Napi::Array pair = Napi::Array::New(env, 2);
  pair.Set(0u, clash.rank);
  pair.Set(1u, clash.other);
  return pair;
}

}  // namespace

Napi::Value make_program(const Napi::CallbackInfo& info) {
  const Elements words = elements_of(info[0], napi_int32_array, "words");
  const auto* const first = reinterpret_cast<const std::int32_t*>(words.begin);
  return hold(info.Env(), new ProgramPointer(parsed("words", [&] { return std::make_shared<const Program>(parse_program(first, words.count)); })));
}

Offer offer_from(const Napi::CallbackInfo& info, std::size_t first) {
  const ProgramPointer& program = held<ProgramPointer>(info[first]);
  const int rank = integer_of(info[first + 1], "rank", 0, program->ranks - 1);
  const bool shares_result = flag_of(info[first + 5], "sharesResult");
  Offer offer = offer_of(program, rank, begins_of(info[first + 2]), info[first + 3], info[first + 4], shares_result);
  std::vector<double> agreed = numbers_of(info[first + 6], "agreed");
  agreed.push_back(shares_result ? 1 : 0);
  agreed.push_back(static_cast<double>(offer.piece_count()));
  offer.fingerprint = fingerprint_of(agreed.data(), agreed.size());
  return offer;
}

Napi::Value make_offer(const Napi::CallbackInfo& info) {
  return hold(info.Env(), new Offer(offer_for_threads(info, 0)));
}

Napi::Value refill_offer(const Napi::CallbackInfo& info) {
  held<Offer>(info[0]) = offer_for_threads(info, 1);
  return info.Env().Undefined();
}

Napi::Value make_offers_of_all(const Napi::CallbackInfo& info) {
  auto all = std::make_unique<OffersOfAll>(offers_of_all_from(info, 0));
  const Clash clash = clash_of(*all);
  return clash ? pair_of(info.Env(), clash) : hold(info.Env(), all.release());
}

Napi::Value refill_offers_of_all(const Napi::CallbackInfo& info) {
  OffersOfAll all = offers_of_all_from(info, 1);
  const Clash clash = clash_of(all);
  if (clash) return pair_of(info.Env(), clash);
  held<OffersOfAll>(info[0]) = std::move(all);
  return info.Env().Undefined();
}

}  // namespace coll

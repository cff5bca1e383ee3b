#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "../threads/offer.h"
#include "handles.h"

namespace coll {

using ProgramPointer = std::shared_ptr<const Program>;

// The offers of all ranks, for a single controller.
struct OffersOfAll {
  std::vector<Offer> offers;
  std::vector<const Offer*> pointers;
};

template <>
inline constexpr HandleKind kHandle<ProgramPointer> = handle_kind("program", 1);
template <>
inline constexpr HandleKind kHandle<Offer> = handle_kind("offer", 2);
template <>
inline constexpr HandleKind kHandle<OffersOfAll> = handle_kind("offers", 3);

// program(words: Int32Array): External
Napi::Value make_program(const Napi::CallbackInfo& info);

// offer(program, rank, begins: Float64Array, inputs, outputs, sharesResult, agreed: Float64Array):
// External
// `begins`: where each piece begins in the whole buffer, and at last the length of the buffer.
// `agreed`: the numbers that must be the same on all ranks.
Napi::Value make_offer(const Napi::CallbackInfo& info);

// refillOffer(offer, program, rank, ...): makes a new offer in a handle whose call has ended. Other
// ranks may read an offer for threads until this rank's next call has ended.
Napi::Value refill_offer(const Napi::CallbackInfo& info);

// The offer described by the arguments from `first` on. Throws WrongArgument if it would access
// memory outside of the arrays.
Offer offer_from(const Napi::CallbackInfo& info, std::size_t first = 0);

// offersOfAll(program, begins: Float64Array, inputs[][], outputs[][], sharesResult): External |
// [rank, rank]
// The pair: the rank whose output overlaps memory of the other rank.
Napi::Value make_offers_of_all(const Napi::CallbackInfo& info);

// refillOffersOfAll(offers, program, ...): undefined
// [rank, rank]; like offersOfAll, in the handle of a call that has ended
Napi::Value refill_offers_of_all(const Napi::CallbackInfo& info);

}  // namespace coll

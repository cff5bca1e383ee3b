#pragma once

#include <napi.h>

namespace coll {

// probe(choice): Findings
Napi::Value probe(const Napi::CallbackInfo& info);
// flightRecorder(): FlightEntry[]
Napi::Value flight_recorder(const Napi::CallbackInfo& info);
// counts(): Counts
Napi::Value counts(const Napi::CallbackInfo& info);

}  // namespace coll

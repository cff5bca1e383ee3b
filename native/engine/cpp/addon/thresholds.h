#pragma once

#include <napi.h>

#include "../thresholds.h"

namespace coll {

// The thresholds in a JavaScript array, in the order of the struct. Throws WrongArgument.
Thresholds thresholds_of(const Napi::Value& numbers);

// Adds calibrate().
void add_calibration(Napi::Object exports);

}  // namespace coll

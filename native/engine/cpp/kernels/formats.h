#pragma once

#include <cstdint>

#include "float16.h"
#include "half.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

// How elements are stored, the type in which they are combined, and how several are converted at
// once.
template <class T>
struct Plain {
  using Stored = T;
  using Wide = T;
  using Lanes = NoLanes;
  static Wide widen(Stored value) { return value; }
  static Stored narrow(Wide value) { return value; }
};

// Integers whose mean is computed in a float type.
template <class T, class Quotient>
struct Integers {
  using Stored = T;
  using Wide = Quotient;
  using Lanes = NoLanes;
  static Wide widen(Stored value) { return static_cast<Wide>(value); }
};

struct Bfloat16 {
  using Stored = std::uint16_t;
  using Wide = float;
  using Lanes = NoLanes;
  static Wide widen(Stored value) { return bfloat16_to_float(value); }
  static Stored narrow(Wide value) { return float_to_bfloat16(value); }
};

}  // namespace
}  // namespace coll

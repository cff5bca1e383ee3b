#pragma once

#include <cstdint>
#include <type_traits>

#include "half.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

// How elements are stored, and in which type they are combined.
template <class T>
struct Plain {
  using Stored = T;
  using Wide = T;
  static Wide widen(Stored value) { return value; }
  static Stored narrow(Wide value) { return value; }
};

struct Float16 {
  using Stored = std::uint16_t;
  using Wide = float;
  static Wide widen(Stored value) { return float16_to_float(value); }
  static Stored narrow(Wide value) { return float_to_float16(value); }
};

struct Bfloat16 {
  using Stored = std::uint16_t;
  using Wide = float;
  static Wide widen(Stored value) { return bfloat16_to_float(value); }
  static Stored narrow(Wide value) { return float_to_bfloat16(value); }
};

// Integers are combined unsigned, where wrapping is defined, and from 32 bits, since uint16 would become signed.
struct Sum {
  template <class T>
  static T combine(T a, T b) {
    return static_cast<T>(a + b);
  }
};

// A sum that is divided when it is complete.
struct Mean : Sum {};

struct Product {
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral<T>::value) return static_cast<T>(1u * a * b);
    else return a * b;
  }
};

// Comparing both ways finds the same number twice, but for NaN, which wins over any number, and for zeros of both signs.
struct Min {
  template <class T>
  static T combine(T a, T b) {
    const T lower = a < b ? a : b;
    if constexpr (std::is_integral<T>::value) return lower;
    else return joined(lower, b < a ? b : a);
  }

  static float joined(float a, float b) { return bits_as<float>(bits_as<std::uint32_t>(a) | bits_as<std::uint32_t>(b)); }
  static double joined(double a, double b) {
    return bits_as<double>(bits_as<std::uint64_t>(a) | bits_as<std::uint64_t>(b));
  }
};

struct Max {
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral<T>::value) return a > b ? a : b;
    else return -Min::combine(-a, -b);
  }
};

// Of bools, stored as bytes of which any but zero is true.
struct Or {
  static std::uint8_t combine(std::uint8_t a, std::uint8_t b) { return (a | b) != 0; }
};

struct And {
  static std::uint8_t combine(std::uint8_t a, std::uint8_t b) { return (a != 0) & (b != 0); }
};

// What happens to a combined value before it is stored.
struct Keep {
  template <class T>
  T operator()(T value) const {
    return value;
  }
};

template <class T>
struct Divide {
  T divisor;
  template <class From>
  T operator()(From value) const {
    return static_cast<T>(value) / divisor;
  }
};

// The same bits as dividing, for powers of two, in a fraction of the time.
template <class T>
struct Scale {
  T factor;
  template <class From>
  T operator()(From value) const {
    return static_cast<T>(value) * factor;
  }
};

}  // namespace
}  // namespace coll

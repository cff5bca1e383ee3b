#pragma once

#include <cstdint>
#include <type_traits>

#include "half.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

// Integers are added and multiplied as unsigned numbers of at least 32 bits, which wrap around. C++
// would promote shorter ones to int, whose overflow is undefined.
struct Sum {
  template <class T>
  static T combine(T a, T b) {
    return static_cast<T>(a + b);
  }
};

// A sum that is divided once it is complete.
struct Mean : Sum {};

struct Product {
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral<T>::value) return static_cast<T>(1u * a * b);
    else return a * b;
  }
};

// For two unequal floats, the comparison in either order selects the same one. For NaN, which must
// win, and for zeros of both signs, the two selections differ and are combined bit by bit. NaN with
// any other bits stays NaN.
struct Min {
  template <class T>
  static T combine(T a, T b) {
    const T lower = a < b ? a : b;
    if constexpr (std::is_integral<T>::value) return lower;
    else return bits_as<T>(bits_of(lower) | bits_of(b < a ? b : a));
  }
};

struct Max {
  template <class T>
  static T combine(T a, T b) {
    const T upper = a > b ? a : b;
    if constexpr (std::is_integral<T>::value) {
      return upper;
    } else {
      const auto first = bits_of(upper);
      const auto second = bits_of(b > a ? b : a);
      return bits_as<T>((first & second) | ((first | second) & ~bits_of(-T{0})));
    }
  }
};

// For bools, stored as bytes: any value but zero is true.
struct Or {
  static std::uint8_t combine(std::uint8_t a, std::uint8_t b) { return (a | b) != 0; }
};

struct And {
  static std::uint8_t combine(std::uint8_t a, std::uint8_t b) { return (a != 0) & (b != 0); }
};

// The last operation on a combined value before it is stored.
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

// Divides by a power of two by multiplying with the inverse: the same bits in a fraction of the
// time.
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

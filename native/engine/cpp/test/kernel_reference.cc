#include "kernel_reference.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

namespace coll::reference {
namespace {

constexpr const char* kDTypeNames[] = {"float16", "bfloat16", "float32", "float64", "int8",   "int16", "int32",
                                       "int64",   "uint8",    "uint16",  "uint32",  "uint64", "bool"};
constexpr const char* kOpNames[] = {"sum", "mean", "min", "max", "product"};

template <class T>
T element(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void append(Bytes& bytes, T value) {
  const std::size_t end = bytes.size();
  bytes.resize(end + sizeof(T));
  std::memcpy(bytes.data() + end, &value, sizeof(T));
}

// A value of a format with `precision` significant bits and normal exponents from `least`, rounded to even in double.
double rounded(double value, int precision, int least) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent, least) - precision;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

double decode(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int fraction = static_cast<int>(bits & ((1u << fraction_bits) - 1));
  const int exponent = static_cast<int>((bits >> fraction_bits) & ((1u << exponent_bits) - 1));
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

std::uint16_t encode(double value, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
  const unsigned infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1u << (fraction_bits - 1));
  const double magnitude = std::fabs(rounded(value, fraction_bits + 1, 2 - bias));
  if (magnitude >= std::ldexp(1, bias + 1)) return static_cast<std::uint16_t>(sign | infinity);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int biased = magnitude == 0 ? 0 : std::max(exponent - 1 + bias, 0);
  const double fraction = std::ldexp(magnitude, fraction_bits + bias - std::max(biased, 1));
  const unsigned whole = static_cast<unsigned>(fraction) - (biased > 0 ? 1u << fraction_bits : 0u);
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(biased) << fraction_bits | whole);
}

template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

// 128 bits hold any sum or product of two integers, and its low bits are what is left after wrapping around.
template <class T>
T combine(Op op, T a, T b) {
  using Exact = std::conditional_t<std::is_same_v<T, float>, double,
                                   std::conditional_t<std::is_same_v<T, double>, double, unsigned __int128>>;
  switch (op) {
    case Op::kMin: return smaller(a, b);
    case Op::kMax: return larger(a, b);
    case Op::kProduct: return static_cast<T>(static_cast<Exact>(a) * static_cast<Exact>(b));
    default: return static_cast<T>(static_cast<Exact>(a) + static_cast<Exact>(b));
  }
}

bool combine_bools(Op op, bool a, bool b) { return op == Op::kMin || op == Op::kProduct ? a && b : a || b; }

template <class Visit>
auto with_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat32: return visit(float{});
    case DType::kFloat64: return visit(double{});
    case DType::kInt8: return visit(std::int8_t{});
    case DType::kInt16: return visit(std::int16_t{});
    case DType::kInt32: return visit(std::int32_t{});
    case DType::kInt64: return visit(std::int64_t{});
    case DType::kUint32: return visit(std::uint32_t{});
    case DType::kUint64: return visit(std::uint64_t{});
    case DType::kUint8:
    case DType::kBool: return visit(std::uint8_t{});
    default: return visit(std::uint16_t{});
  }
}

Bytes combine(DType dtype, Op op, const Bytes& left, const Bytes& right) {
  return with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    Bytes results;
    for (std::size_t i = 0; i < left.size() / sizeof(T); ++i) {
      const T a = element<T>(left, i);
      const T b = element<T>(right, i);
      append(results, dtype == DType::kBool ? static_cast<T>(combine_bools(op, a != 0, b != 0)) : combine(op, a, b));
    }
    return results;
  });
}

template <class T>
void append_random(Bytes& bytes, DType dtype, std::mt19937_64& random) {
  const auto bits = random();
  const auto choice = random() % 8;
  if (dtype == DType::kFloat16 || dtype == DType::kBfloat16) {
    const double near_one = static_cast<double>(bits % 4096) / 512 - 4;
    const std::uint16_t near = dtype == DType::kFloat16 ? encode_float16(near_one) : encode_bfloat16(near_one);
    append(bytes, choice < 5 ? near : static_cast<std::uint16_t>(bits));
  } else if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T odd[] = {0, -T{0}, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
                     Limits::min(), Limits::max(), Limits::lowest(), -Limits::denorm_min()};
    append(bytes, choice < 6 ? static_cast<T>(std::normal_distribution<double>()(random)) : odd[bits % std::size(odd)]);
  } else {
    const T odd[] = {0, 1, static_cast<T>(-1), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
    append(bytes, choice < 5 ? static_cast<T>(bits) : odd[bits % std::size(odd)]);
  }
}

}  // namespace

std::string name_of(DType dtype) { return kDTypeNames[static_cast<int>(dtype)]; }
std::string name_of(Op op) { return kOpNames[static_cast<int>(op)]; }

std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kDTypeCount; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

bool is_defined(DType dtype, Op op) { return dtype != DType::kBool || op != Op::kMean; }

double decode_float16(std::uint16_t bits) { return decode(bits, 5, 10); }
double decode_bfloat16(std::uint16_t bits) { return decode(bits, 8, 7); }
std::uint16_t encode_float16(double value) { return encode(value, 5, 10); }
std::uint16_t encode_bfloat16(double value) { return encode(value, 8, 7); }

Bytes random_elements(DType dtype, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes bytes;
  with_type(dtype, [&](auto zero) {
    for (std::size_t i = 0; i < count; ++i) append_random<decltype(zero)>(bytes, dtype, random);
  });
  return bytes;
}

Bytes widen(DType dtype, Op op, const Bytes& elements) {
  const DType accumulator = accumulator_of(dtype, op);
  if (accumulator == dtype) return elements;
  Bytes wide;
  if (!is_half(dtype)) {
    with_type(dtype, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < elements.size() / sizeof(T); ++i) {
        const T value = element<T>(elements, i);
        if (accumulator == DType::kFloat32) append(wide, static_cast<float>(value));
        else append(wide, static_cast<double>(value));
      }
    });
    return wide;
  }
  for (std::size_t i = 0; i < elements.size() / 2; ++i) {
    const auto bits = element<std::uint16_t>(elements, i);
    append(wide, static_cast<float>(dtype == DType::kFloat16 ? decode_float16(bits) : decode_bfloat16(bits)));
  }
  return wide;
}

Bytes finish(DType dtype, Op op, int divisor, const Bytes& accumulators) {
  if (op != Op::kMean && accumulator_of(dtype, op) == dtype) return accumulators;
  return with_type(accumulator_of(dtype, op), [&](auto zero) {
    using T = decltype(zero);
    Bytes results;
    for (std::size_t i = 0; i < accumulators.size() / sizeof(T); ++i) {
      double value = static_cast<double>(element<T>(accumulators, i));
      if (op == Op::kMean) value /= divisor;
      const float single = static_cast<float>(value);
      switch (result_of(dtype, op)) {
        case DType::kFloat16: append(results, encode_float16(single)); break;
        case DType::kBfloat16: append(results, encode_bfloat16(single)); break;
        case DType::kFloat32: append(results, single); break;
        default: append(results, value);
      }
    }
    return results;
  });
}

Bytes fold(DType dtype, Op op, int divisor, const std::vector<Bytes>& inputs, int input_count) {
  Bytes sum = widen(dtype, op, inputs[0]);
  for (int k = 1; k < input_count; ++k) {
    sum = combine(accumulator_of(dtype, op), op, sum, widen(dtype, op, inputs[static_cast<std::size_t>(k)]));
  }
  return finish(dtype, op, divisor, sum);
}

std::size_t first_difference(DType dtype, const std::byte* actual, const std::byte* expected, std::size_t count) {
  const std::size_t size = byte_size(dtype);
  if (std::memcmp(actual, expected, count * size) == 0) return count;
  const auto is_nan = [&](const std::byte* at) {
    const Bytes one = widen(dtype, Op::kSum, Bytes(at, at + size));
    if (accumulator_of(dtype, Op::kSum) == DType::kFloat32) return std::isnan(element<float>(one, 0));
    return dtype == DType::kFloat64 && std::isnan(element<double>(one, 0));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const a = actual + i * size;
    const std::byte* const b = expected + i * size;
    if (std::memcmp(a, b, size) != 0 && !(is_nan(a) && is_nan(b))) return i;
  }
  return count;
}

}  // namespace coll::reference

#include "reductions.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../../../engine/cpp/kernels/half.h"

// The loops are compiled for wider vectors as well, and the loader picks those that the processor
// supports.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COLL_VECTORIZED __attribute__((target_clones("avx2", "default")))
#else
#define COLL_VECTORIZED
#endif

namespace coll {
namespace {

struct Float16Format {
  static constexpr std::uint16_t kNan = 0x7e00;
  static float widen(std::uint16_t half) { return float16_to_float(half); }
  static std::uint16_t narrow(float value) { return float_to_float16(value); }
};
struct Bfloat16Format {
  static constexpr std::uint16_t kNan = 0x7fc0;
  static float widen(std::uint16_t half) { return bfloat16_to_float(half); }
  static std::uint16_t narrow(float value) { return float_to_bfloat16(value); }
};

struct Sum {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct Product {
  template <class T>
  static T of(T a, T b) {
    return a * b;
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a > b ? a : b;
  }
};
// Minima and maxima of floats: NaN if either is; equal values differ only if they are zeros of both signs. All ranks get
// the same NaN, although they may combine values in another order.
struct FloatMin {
  template <class T>
  static T of(T a, T b) {
    const T less = a < b ? a : b;
    const T ordered = a == b ? (std::signbit(a) ? a : b) : less;
    return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : ordered;
  }
};
struct FloatMax {
  template <class T>
  static T of(T a, T b) {
    const T more = a > b ? a : b;
    const T ordered = a == b ? (std::signbit(a) ? b : a) : more;
    return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : ordered;
  }
};

template <class Format, class Combine>
COLL_VECTORIZED void reduce_halves(void* in, void* inout, int* count, void*) {
  const auto* const from = static_cast<const std::uint16_t*>(in);
  auto* const into = static_cast<std::uint16_t*>(inout);
  for (int i = 0; i < *count; ++i) {
    const float combined = Combine::of(Format::widen(from[i]), Format::widen(into[i]));
    const std::uint16_t rounded = Format::narrow(combined);
    into[i] = combined != combined ? Format::kNan : rounded;
  }
}

template <class T, class Combine>
COLL_VECTORIZED void reduce_floats(void* in, void* inout, int* count, void*) {
  const auto* const from = static_cast<const T*>(in);
  auto* const into = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i) into[i] = Combine::of(from[i], into[i]);
}

template <class T, class Combine>
COLL_VECTORIZED void reduce_to_one_nan(void* in, void* inout, int* count, void*) {
  const auto* const from = static_cast<const T*>(in);
  auto* const into = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i) {
    const T combined = Combine::of(from[i], into[i]);
    into[i] = combined != combined ? std::numeric_limits<T>::quiet_NaN() : combined;
  }
}

// Combines integers as unsigned numbers, because sums and products wrap around.
template <class T, class Combine>
COLL_VECTORIZED void reduce_integers(void* in, void* inout, int* count, void*) {
  const auto* const from = static_cast<const T*>(in);
  auto* const into = static_cast<T*>(inout);
  for (int i = 0; i < *count; ++i) into[i] = static_cast<T>(Combine::of(from[i], into[i]));
}

void reduce_or(void* in, void* inout, int* count, void*) {
  const auto* const from = static_cast<const std::uint8_t*>(in);
  auto* const into = static_cast<std::uint8_t*>(inout);
  for (int i = 0; i < *count; ++i) into[i] = (from[i] | into[i]) != 0 ? 1 : 0;
}

void reduce_and(void* in, void* inout, int* count, void*) {
  const auto* const from = static_cast<const std::uint8_t*>(in);
  auto* const into = static_cast<std::uint8_t*>(inout);
  for (int i = 0; i < *count; ++i) into[i] = from[i] != 0 && into[i] != 0 ? 1 : 0;
}

template <class Format>
Reduction reduction_of_halves(Op op) {
  switch (op) {
    case Op::kMin:
      return reduce_halves<Format, FloatMin>;
    case Op::kMax:
      return reduce_halves<Format, FloatMax>;
    case Op::kProduct:
      return reduce_halves<Format, Product>;
    default:
      return reduce_halves<Format, Sum>;
  }
}

template <class T>
Reduction reduction_of_floats(Op op) {
  if (op == Op::kMin) return reduce_floats<T, FloatMin>;
  if (op == Op::kMax) return reduce_floats<T, FloatMax>;
  return nullptr;
}

template <class T>
Reduction reduction_of_integers(Op op) {
  if (op == Op::kMin) return reduce_integers<T, Min>;
  if (op == Op::kMax) return reduce_integers<T, Max>;
  // MPI's own sums and products of wider types wrap around; with AVX, those of Open MPI for 8 and
  // 16 bits do not.
  if constexpr (sizeof(T) > 2) return nullptr;
  using Wrapping = std::make_unsigned_t<T>;
  return op == Op::kProduct ? reduce_integers<Wrapping, Product> : reduce_integers<Wrapping, Sum>;
}

template <class T>
COLL_VECTORIZED void divide_floats(void* into, const void* from, std::size_t count, int divisor) {
  auto* const quotients = static_cast<T*>(into);
  const auto* const sums = static_cast<const T*>(from);
  const T by = static_cast<T>(divisor);
  for (std::size_t i = 0; i < count; ++i) quotients[i] = sums[i] / by;
}

template <class Format>
COLL_VECTORIZED void divide_halves(void* into, const void* from, std::size_t count, int divisor) {
  auto* const quotients = static_cast<std::uint16_t*>(into);
  const auto* const sums = static_cast<const std::uint16_t*>(from);
  const float by = static_cast<float>(divisor);
  for (std::size_t i = 0; i < count; ++i) quotients[i] = Format::narrow(Format::widen(sums[i]) / by);
}

template <class Format>
COLL_VECTORIZED void widen_halves(float* into, const std::uint16_t* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) into[i] = Format::widen(from[i]);
}

template <class Into, class From>
COLL_VECTORIZED void widen_integers(void* into, const void* from, std::size_t count) {
  auto* const floats = static_cast<Into*>(into);
  const auto* const integers = static_cast<const From*>(from);
  for (std::size_t i = 0; i < count; ++i) floats[i] = static_cast<Into>(integers[i]);
}

template <class Format>
COLL_VECTORIZED void narrow_floats(std::uint16_t* into, const float* from, std::size_t count, float divisor) {
  for (std::size_t i = 0; i < count; ++i) into[i] = Format::narrow(from[i] / divisor);
}

}  // namespace

Reduction own_reduction(DType dtype, Op op) {
  switch (dtype) {
    case DType::kFloat16:
      return reduction_of_halves<Float16Format>(op);
    case DType::kBfloat16:
      return reduction_of_halves<Bfloat16Format>(op);
    case DType::kFloat32:
      return reduction_of_floats<float>(op);
    case DType::kFloat64:
      return reduction_of_floats<double>(op);
    case DType::kInt8:
      return reduction_of_integers<std::int8_t>(op);
    case DType::kInt16:
      return reduction_of_integers<std::int16_t>(op);
    case DType::kInt32:
      return reduction_of_integers<std::int32_t>(op);
    case DType::kInt64:
      return reduction_of_integers<std::int64_t>(op);
    case DType::kUint8:
      return reduction_of_integers<std::uint8_t>(op);
    case DType::kUint16:
      return reduction_of_integers<std::uint16_t>(op);
    case DType::kUint32:
      return reduction_of_integers<std::uint32_t>(op);
    case DType::kUint64:
      return reduction_of_integers<std::uint64_t>(op);
    case DType::kBool:
      return op == Op::kSum || op == Op::kMax ? reduce_or : reduce_and;
  }
  return nullptr;
}

Reduction one_nan_reduction(DType dtype, Op op) {
  const bool is_product = op == Op::kProduct;
  if (dtype == DType::kFloat32) return is_product ? reduce_to_one_nan<float, Product> : reduce_to_one_nan<float, Sum>;
  if (dtype == DType::kFloat64) return is_product ? reduce_to_one_nan<double, Product> : reduce_to_one_nan<double, Sum>;
  return nullptr;
}

void divide(DType dtype, void* into, const void* from, std::size_t count, int divisor) {
  switch (dtype) {
    case DType::kFloat16:
      return divide_halves<Float16Format>(into, from, count, divisor);
    case DType::kBfloat16:
      return divide_halves<Bfloat16Format>(into, from, count, divisor);
    case DType::kFloat32:
      return divide_floats<float>(into, from, count, divisor);
    case DType::kFloat64:
      return divide_floats<double>(into, from, count, divisor);
    default:
      return;
  }
}

void widen(DType dtype, void* into, const void* from, std::size_t count) {
  switch (dtype) {
    case DType::kFloat16:
      return widen_halves<Float16Format>(static_cast<float*>(into), static_cast<const std::uint16_t*>(from), count);
    case DType::kBfloat16:
      return widen_halves<Bfloat16Format>(static_cast<float*>(into), static_cast<const std::uint16_t*>(from), count);
    case DType::kInt8:
      return widen_integers<float, std::int8_t>(into, from, count);
    case DType::kInt16:
      return widen_integers<float, std::int16_t>(into, from, count);
    case DType::kInt32:
      return widen_integers<double, std::int32_t>(into, from, count);
    case DType::kInt64:
      return widen_integers<double, std::int64_t>(into, from, count);
    case DType::kUint8:
      return widen_integers<float, std::uint8_t>(into, from, count);
    case DType::kUint16:
      return widen_integers<float, std::uint16_t>(into, from, count);
    case DType::kUint32:
      return widen_integers<double, std::uint32_t>(into, from, count);
    case DType::kUint64:
      return widen_integers<double, std::uint64_t>(into, from, count);
    default:
      return;
  }
}

void narrow(DType dtype, void* into, const float* from, std::size_t count, int divisor) {
  auto* const halves = static_cast<std::uint16_t*>(into);
  const float by = static_cast<float>(divisor);
  if (dtype == DType::kFloat16) narrow_floats<Float16Format>(halves, from, count, by);
  else narrow_floats<Bfloat16Format>(halves, from, count, by);
}

}  // namespace coll

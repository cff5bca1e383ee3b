#pragma once

#include <cstdint>

#include "loops.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

template <class Format, class Op>
constexpr Combiner kCombiner = {{
    {combine<Format, Op, 2, 1>, combine<Format, Op, 2, 2>},
    {combine<Format, Op, 3, 1>, combine<Format, Op, 3, 2>},
    {combine<Format, Op, 4, 1>, combine<Format, Op, 4, 2>},
    {combine<Format, Op, 5, 1>, combine<Format, Op, 5, 2>},
    {combine<Format, Op, 6, 1>, combine<Format, Op, 6, 2>},
    {combine<Format, Op, 7, 1>, combine<Format, Op, 7, 2>},
    {combine<Format, Op, 8, 1>, combine<Format, Op, 8, 2>},
}};

// Fills in the loops of one dtype after another.
struct Maker {
  Kernels kernels;

  constexpr void set(DType dtype, Op op, const Combiner& combiner) {
    kernels.combiners[static_cast<int>(dtype)][static_cast<int>(op)] = &combiner;
  }

  // Sums and products of integers are the same bits, signed or not.
  template <class Format, class Unsigned>
  constexpr void add_numbers(DType dtype) {
    set(dtype, Op::kSum, kCombiner<Unsigned, Sum>);
    set(dtype, Op::kProduct, kCombiner<Unsigned, Product>);
    set(dtype, Op::kMin, kCombiner<Format, Min>);
    set(dtype, Op::kMax, kCombiner<Format, Max>);
  }

  template <class Format>
  constexpr void add_floats(DType dtype) {
    add_numbers<Format, Format>(dtype);
    set(dtype, Op::kMean, kCombiner<Format, Mean>);
    kernels.divide[static_cast<int>(dtype)] = divide<Format, Plain<typename Format::Wide>>;
  }

  template <class Format>
  constexpr void add_halves(DType dtype) {
    add_floats<Format>(dtype);
    kernels.widen[static_cast<int>(dtype)] = convert<Plain<float>, Format>;
    kernels.narrow[static_cast<int>(dtype)] = convert<Format, Plain<float>>;
  }

  template <class T, class Unsigned, class Quotient>
  constexpr void add_integers(DType dtype) {
    add_numbers<Plain<T>, Plain<Unsigned>>(dtype);
    kernels.divide[static_cast<int>(dtype)] = divide<Plain<Quotient>, Plain<T>>;
  }

  constexpr void add_bools() {
    set(DType::kBool, Op::kSum, kCombiner<Plain<std::uint8_t>, Or>);
    set(DType::kBool, Op::kMax, kCombiner<Plain<std::uint8_t>, Or>);
    set(DType::kBool, Op::kMin, kCombiner<Plain<std::uint8_t>, And>);
    set(DType::kBool, Op::kProduct, kCombiner<Plain<std::uint8_t>, And>);
  }
};

constexpr Kernels make_kernels(const char* name) {
  Maker maker{};
  maker.kernels.name = name;
  maker.add_halves<Float16>(DType::kFloat16);
  maker.add_halves<Bfloat16>(DType::kBfloat16);
  maker.add_floats<Plain<float>>(DType::kFloat32);
  maker.add_floats<Plain<double>>(DType::kFloat64);
  maker.add_integers<std::int8_t, std::uint8_t, float>(DType::kInt8);
  maker.add_integers<std::int16_t, std::uint16_t, float>(DType::kInt16);
  maker.add_integers<std::int32_t, std::uint32_t, double>(DType::kInt32);
  maker.add_integers<std::int64_t, std::uint64_t, double>(DType::kInt64);
  maker.add_integers<std::uint8_t, std::uint8_t, float>(DType::kUint8);
  maker.add_integers<std::uint16_t, std::uint16_t, float>(DType::kUint16);
  maker.add_integers<std::uint32_t, std::uint32_t, double>(DType::kUint32);
  maker.add_integers<std::uint64_t, std::uint64_t, double>(DType::kUint64);
  maker.add_bools();
  return maker.kernels;
}

}  // namespace
}  // namespace coll

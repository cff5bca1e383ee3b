#pragma once

#include <cstdint>

#include "combiners.h"
#include "convert_loops.h"
#include "kernels.h"

// Included by the file of each instruction set, which needs its own copy: hence no linkage.
namespace coll {
namespace {

// Fills the table with the loops of one dtype after another.
struct Maker {
  Kernels kernels;

  constexpr void set(DType dtype, Op op, const Combiner& combiner) {
    kernels.combiners[static_cast<int>(dtype)][static_cast<int>(op)] = &combiner;
  }

  template <class Format>
  constexpr void add_floats(DType dtype) {
    set(dtype, Op::kSum, kCommon<Format, Sum>);
    set(dtype, Op::kMean, kCommon<Format, Mean>);
    set(dtype, Op::kMin, kRare<Format, Min>);
    set(dtype, Op::kMax, kRare<Format, Max>);
    set(dtype, Op::kProduct, kRare<Format, Product>);
    kernels.divide[static_cast<int>(dtype)] = divide<Format, Plain<typename Format::Wide>>;
  }

  template <class Format>
  constexpr void add_conversions(DType dtype) {
    kernels.divide[static_cast<int>(dtype)] = divide<Format, Plain<float>>;
    kernels.widen[static_cast<int>(dtype)] = convert<Plain<float>, Format>;
    kernels.narrow[static_cast<int>(dtype)] = convert<Format, Plain<float>>;
  }

  // Sums and products have the same bits for signed and unsigned integers.
  template <class T, class Unsigned, class Quotient>
  constexpr void add_integers(DType dtype) {
    set(dtype, Op::kSum, kRare<Plain<Unsigned>, Sum>);
    set(dtype, Op::kMin, kRare<Plain<T>, Min>);
    set(dtype, Op::kMax, kRare<Plain<T>, Max>);
    set(dtype, Op::kProduct, kRare<Plain<Unsigned>, Product>);
    kernels.widen[static_cast<int>(dtype)] = convert<Plain<Quotient>, Integers<T, Quotient>>;
    kernels.divide[static_cast<int>(dtype)] = divide<Plain<Quotient>, Plain<Quotient>>;
  }

  constexpr void add_bools() {
    set(DType::kBool, Op::kSum, kRare<Plain<std::uint8_t>, Or>);
    set(DType::kBool, Op::kMax, kRare<Plain<std::uint8_t>, Or>);
    set(DType::kBool, Op::kMin, kRare<Plain<std::uint8_t>, And>);
    set(DType::kBool, Op::kProduct, kRare<Plain<std::uint8_t>, And>);
  }
};

constexpr Kernels make_kernels(const char* name) {
  Maker maker{};
  maker.kernels.name = name;
  // Without conversion instructions, conversions take most of the time, so they need not be part of
  // every loop.
  if constexpr (Float16::kHasInstructions) maker.add_floats<Float16>(DType::kFloat16);
  maker.add_conversions<Float16>(DType::kFloat16);
  maker.add_floats<Bfloat16>(DType::kBfloat16);
  maker.add_conversions<Bfloat16>(DType::kBfloat16);
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

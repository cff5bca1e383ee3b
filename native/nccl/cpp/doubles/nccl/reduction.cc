#include "reduction.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../kernels/numbers.cuh"

namespace coll::doubles {
namespace {

// The order is NCCL's.
enum Op { kSum, kProduct, kMaximum, kMinimum, kAverage };

template <class T>
T element(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class Wide>
Wide combined(Wide a, Wide b, int op) {
  if constexpr (std::is_integral_v<Wide>) {
    using Unsigned = std::conditional_t<sizeof(Wide) == 8, std::uint64_t, std::uint32_t>;
    if (op == kSum || op == kAverage) return static_cast<Wide>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    if (op == kProduct) return static_cast<Wide>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
  } else {
    if (op == kSum || op == kAverage) return a + b;
    if (op == kProduct) return a * b;
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return (op == kMaximum) == has_sign(a) ? b : a;
  }
  return (op == kMaximum) == (a > b) ? a : b;
}

template <class T>
Bytes reduced_as(const std::vector<Bytes>& inputs, int op) {
  using Wide = decltype(widened(T()));
  constexpr bool is_whole = std::is_integral_v<Wide>;
  const auto ranks = static_cast<Wide>(inputs.size());
  Bytes result(inputs[0].size());
  for (std::size_t i = 0; i < result.size() / sizeof(T); ++i) {
    // An average of floating numbers multiplies each by 1/n, rounded to their type.
    const Wide factor = op == kAverage && !is_whole ? widened(narrowed_to(T(), static_cast<Wide>(Wide(1) / ranks))) : Wide(1);
    const auto input = [&](std::size_t rank) {
      return widened(narrowed_to(T(), static_cast<Wide>(widened(element<T>(inputs[rank], i)) * factor)));
    };
    Wide value = input(0);
    for (std::size_t rank = 1; rank < inputs.size(); ++rank) value = widened(narrowed_to(T(), combined(value, input(rank), op)));
    if (op == kAverage && is_whole) value = static_cast<Wide>(value / ranks);
    const T narrow = narrowed_to(T(), value);
    std::memcpy(result.data() + i * sizeof(T), &narrow, sizeof(T));
  }
  return result;
}

}  // namespace

std::size_t bytes_of(int dtype) {
  constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return dtype >= 0 && dtype < 10 ? kSizes[dtype] : 0;
}

Bytes reduced(const std::vector<Bytes>& inputs, int dtype, int op) {
  switch (dtype) {
    case 0: return reduced_as<std::int8_t>(inputs, op);
    case 1: return reduced_as<std::uint8_t>(inputs, op);
    case 2: return reduced_as<std::int32_t>(inputs, op);
    case 3: return reduced_as<std::uint32_t>(inputs, op);
    case 4: return reduced_as<std::int64_t>(inputs, op);
    case 5: return reduced_as<std::uint64_t>(inputs, op);
    case 6: return reduced_as<Float16>(inputs, op);
    case 7: return reduced_as<float>(inputs, op);
    case 8: return reduced_as<double>(inputs, op);
    default: return reduced_as<BFloat16>(inputs, op);
  }
}

}  // namespace coll::doubles

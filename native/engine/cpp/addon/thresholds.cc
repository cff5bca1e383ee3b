#include "thresholds.h"

#include <optional>

#include "../calibration/calibration.h"
#include "../shared/rank_state.h"
#include "exports.h"

namespace coll {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 40;
// Blocks of this size still have whole lines for all ranks of a host.
constexpr std::size_t kLeastBlockBytes = 16 * tuning::kKiB;

std::size_t size_of(const Napi::Value& number, const char* what, std::size_t least, std::size_t most) {
  const std::size_t size = count_of(number, what, most);
  if (size < least) throw WrongArgument(std::string(what) + " must be at least " + std::to_string(least) + ", got " + std::to_string(size));
  return size;
}

// calibrate(): number[] | undefined; undefined if other programs take the cores, or the time is over
Napi::Value measure(const Napi::CallbackInfo& info) {
  const std::optional<Thresholds> found = calibrate();
  if (!found) return info.Env().Undefined();
  Napi::Array numbers = Napi::Array::New(info.Env(), 5);
  std::uint32_t index = 0;
  for (const std::size_t size : {found->small_bytes, found->block_bytes, found->streamed_bytes, found->helped_bytes, found->waking_bytes}) {
    numbers.Set(index++, static_cast<double>(size));
  }
  return numbers;
}

}  // namespace

Thresholds thresholds_of(const Napi::Value& numbers) {
  const Napi::Array sizes = array_of(numbers, "thresholds", 5);
  Thresholds thresholds;
  thresholds.small_bytes = size_of(sizes.Get(0u), "smallBytes", tuning::kAlwaysSmallBytes, tuning::kMostSmallBytes);
  thresholds.block_bytes = size_of(sizes.Get(1u), "blockBytes", kLeastBlockBytes, kSlotBytes);
  thresholds.streamed_bytes = size_of(sizes.Get(2u), "streamedBytes", 0, kLargest);
  thresholds.helped_bytes = size_of(sizes.Get(3u), "helpedBytes", 0, kLargest);
  thresholds.waking_bytes = size_of(sizes.Get(4u), "wakingBytes", 1, kLargest);
  return thresholds;
}

void add_calibration(Napi::Object exports) { add<measure>(exports, "calibrate"); }

}  // namespace coll

#include "shares.h"

#include <algorithm>

namespace coll {
namespace {

constexpr std::size_t kLineBytes = 64;

// Less stays in the caches of those who had it before; taking it over costs more than it saves.
constexpr std::size_t kLargeBytes = std::size_t{16} << 20;
// Of a core, as servers have them.
constexpr std::size_t kCacheBytes = std::size_t{2} << 20;
// Of each rank's input: a unit is worth being fetched ahead.
constexpr std::size_t kUnitBytes = std::size_t{128} << 10;

}  // namespace

Shares::Shares(const Offer& offer, std::size_t slice_bytes) : length_(offer.length), ranks_(static_cast<std::size_t>(offer.program->ranks)) {
  const Program& program = *offer.program;
  const std::size_t bytes = byte_size(program.dtype) * ranks_;
  line_ = kLineBytes / byte_size(result_of(program.dtype, program.op));
  slice_ = std::max(slice_bytes / bytes / line_ * line_, line_);
  slices_ = std::max((length_ + slice_ - 1) / slice_, std::size_t{1});
  unit_ = std::max(kUnitBytes / byte_size(program.dtype) / line_ * line_, line_);
  is_large_ = length_ * bytes >= kLargeBytes;
  exceeds_cache_ = length_ * byte_size(program.dtype) > kCacheBytes;
}

Range Shares::share(std::size_t slice, int rank) const {
  const std::size_t begin = slice * slice_;
  const std::size_t end = std::min(begin + slice_, length_);
  const std::size_t lines = (end - begin + line_ - 1) / line_;
  const std::size_t share = (lines + ranks_ - 1) / ranks_ * line_;
  const std::size_t first = std::min(begin + share * static_cast<std::size_t>(rank), end);
  return {first, std::min(first + share, end)};
}

std::size_t Shares::units(const Range& share) const {
  return (share.end - share.begin + unit_ - 1) / unit_;
}

Range Shares::unit(const Range& share, std::size_t index) const {
  const std::size_t begin = std::min(share.begin + index * unit_, share.end);
  return {begin, std::min(begin + unit_, share.end)};
}

}  // namespace coll

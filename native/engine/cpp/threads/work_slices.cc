#include "work_slices.h"

#include <algorithm>

#include "../cache_line.h"

namespace coll {
WorkSlices::WorkSlices(const Offer& offer, std::size_t batch_bytes) : length_(offer.length), ranks_(static_cast<std::size_t>(offer.program->ranks)) {
  const Program& program = *offer.program;
  const std::size_t bytes = byte_size(program.dtype) * ranks_;
  line_ = kCacheLine / byte_size(result_of(program.dtype, program.op));
  batch_ = std::max(batch_bytes / bytes / line_ * line_, line_);
  batches_ = std::max((length_ + batch_ - 1) / batch_, std::size_t{1});
  unit_ = std::max(tuning::kUnitBytes / byte_size(program.dtype) / line_ * line_, line_);
  is_large_ = length_ * bytes >= tuning::kLargeBytes;
  exceeds_cache_ = length_ * byte_size(program.dtype) > tuning::kCoreCacheBytes;
}

Range WorkSlices::slice(std::size_t batch, int rank) const {
  const std::size_t begin = batch * batch_;
  const std::size_t end = std::min(begin + batch_, length_);
  const std::size_t lines = (end - begin + line_ - 1) / line_;
  const std::size_t slice = (lines + ranks_ - 1) / ranks_ * line_;
  const std::size_t first = std::min(begin + slice * static_cast<std::size_t>(rank), end);
  return {first, std::min(first + slice, end)};
}

std::size_t WorkSlices::units(const Range& slice) const {
  return (slice.end - slice.begin + unit_ - 1) / unit_;
}

Range WorkSlices::unit(const Range& slice, std::size_t index) const {
  const std::size_t begin = std::min(slice.begin + index * unit_, slice.end);
  return {begin, std::min(begin + unit_, slice.end)};
}

}  // namespace coll

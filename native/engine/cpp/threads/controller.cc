#include "controller.h"

#include <algorithm>

#include "../cache_line.h"
#include "../tuning.h"

namespace coll {
Controller::Controller(int ranks, int most_helpers, const Thresholds& thresholds)
    : ranks_(ranks), thresholds_(thresholds), scratch_(static_cast<std::size_t>(most_helpers) + 1), job_(most_helpers + 1) {
  buffers_.ranks.resize(static_cast<std::size_t>(ranks));
  buffers_.streamed_bytes = thresholds.streamed_bytes;
}

std::size_t Controller::execute(const Offer* const* offers, std::size_t begin) {
  const Offer& first = *offers[0];
  program_ = first.program.get();
  const bool is_shared = is_one_result(offers, ranks_);
  for (int rank = 0; rank < ranks_; ++rank) {
    const Buffers& buffers = offers[rank]->buffers;
    buffers_.ranks[static_cast<std::size_t>(rank)] = {buffers.inputs.data(), is_shared && rank > 0 ? nullptr : buffers.outputs.data()};
  }
  buffers_.begins = first.begins.data();
  buffers_.piece_count = first.piece_count();
  const std::size_t bytes_of_all = byte_size(program_->dtype) * static_cast<std::size_t>(ranks_);
  const std::size_t end = std::min(first.length, begin + std::max(tuning::kBatchBytes / bytes_of_all, std::size_t{1}));
  if ((end - begin) * bytes_of_all < thresholds_.helped_bytes) {
    if (fitted_ != first.program) {
      scratch_[0].fit(*program_);
      // The scratch memory of some workers now fits another program.
      fitted_.reset();
    }
    coll::execute(*program_, buffers_, begin, end, scratch_[0]);
    return end;
  }
  // Allocates here and not in the helpers, which could not report a lack of memory.
  if (fitted_ != first.program) {
    for (Scratch& scratch : scratch_) scratch.fit(*program_);
    fitted_ = first.program;
  }
  begin_ = begin;
  // Units are whole cache lines, so that no two threads write the same line.
  const std::size_t unit = std::max(tuning::kTaskUnitBytes / bytes_of_all / kCacheLine * kCacheLine, kCacheLine);
  const auto work = [](void* self, int worker, std::size_t from, std::size_t to) {
    static_cast<Controller*>(self)->execute_range(worker, from, to);
  };
  crew_->run({work, this, end - begin, unit, (end - begin) * bytes_of_all, thresholds_.waking_bytes}, job_);
  return end;
}

void Controller::execute_range(int worker, std::size_t begin, std::size_t end) {
  coll::execute(*program_, buffers_, begin_ + begin, begin_ + end, scratch_[static_cast<std::size_t>(worker)]);
}

}  // namespace coll

#include "values.h"

#include <algorithm>

#include "../cache_line.h"

namespace coll {

void Values::begin(const MessageProgram& program, const Offer& offer) {
  program_ = &program;
  offer_ = &offer;
  progress_.resize(program.values.size());
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const Value& value = program.values[i];
    const Range range = program.chunk_range(offer.length, value.chunk);
    const std::size_t count = range.end - range.begin;
    const bool is_input = value.where == Where::kInput;
    const std::size_t shift = is_input ? program.input_shift(offer.length, value.chunk) : program.output_shift(offer.length, value.chunk);
    progress_[i] = {range.begin - shift, count, is_input ? count : 0, byte_size(dtype_of(program, value.form))};
  }
  fit_work_buffers();
}

void Values::fit_work_buffers() {
  work_offsets_.resize(program_->work_buffers.size());
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < work_offsets_.size(); ++i) {
    const WorkBuffer& buffer = program_->work_buffers[i];
    const Range range = program_->chunk_range(offer_->length, buffer.chunk);
    work_offsets_[i] = bytes;
    const std::size_t size = (range.end - range.begin) * byte_size(dtype_of(*program_, buffer.form));
    bytes += in_cache_lines(size);
  }
  if (bytes <= work_bytes_) return;
  work_.reset(new std::byte[bytes]);
  work_bytes_ = bytes;
}

Values::MemoryRange Values::range_at(std::size_t index, std::size_t element) const {
  const Progress& progress = progress_[index];
  const Value& value = program_->values[index];
  const std::size_t left = progress.count - element;
  if (value.where == Where::kWork) return {work_.get() + work_offsets_[value.work_buffer] + element * progress.element_bytes, left};
  const std::size_t at = progress.begin + element;
  std::size_t piece = 0;
  std::size_t begin = 0;
  std::size_t end = at + left;
  if (offer_->piece_count() > 1) {
    const std::vector<std::size_t>& begins = offer_->begins;
    piece = static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), at) - begins.begin()) - 1;
    begin = begins[piece];
    end = begins[piece + 1];
  }
  std::byte* const base = value.where == Where::kInput ? const_cast<std::byte*>(offer_->buffers.inputs[piece]) : offer_->buffers.outputs[piece];
  return {base + (at - begin) * progress.element_bytes, std::min(left, end - at)};
}

}  // namespace coll

#if defined(__linux__)

#include "staging_buffer.h"

#include <algorithm>
#include <new>

#include "../error.h"
#include "../kernels/fold.h"
#include "../cache_line.h"
#include "../threads/execute.h"

namespace coll {
namespace {

bool is_moved(const StagingPool& pool, bool is_detachable, const std::byte* own, std::size_t bytes) {
  return bytes > 0 && is_detachable && !pool.is_shared(own, bytes);
}

}  // namespace

std::size_t StagingPool::copied_bytes(const Offer& offer, const Detachable& detachable) const {
  std::size_t copied = 0;
  const auto count = [&](const auto& pieces, const std::vector<bool>& are_detachable, std::size_t bytes_of_all) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::size_t bytes = offer.bytes_of_piece(i, bytes_of_all);
      if (is_moved(*this, are_detachable[i], pieces[i], bytes)) copied += bytes;
    }
  };
  count(offer.buffers.inputs, detachable.inputs, offer.input_bytes());
  count(offer.buffers.outputs, detachable.outputs, offer.output_bytes());
  return copied;
}

std::byte* StagingPool::take(std::size_t bytes) {
  if (!shared_) return take_own(bytes);
  try {
    return shared_->allocate_unset(bytes);
  } catch (const Error&) {
    return take_own(bytes);
  }
}

// Takes the smallest block that is large enough. If there is none, replaces the largest by a new
// one.
std::byte* StagingPool::take_own(std::size_t bytes) {
  const auto by_size = [](const Allocation& a, const Allocation& b) { return a.bytes < b.bytes; };
  std::sort(kept_.begin(), kept_.end(), by_size);
  auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Allocation& allocation) { return allocation.bytes >= bytes; });
  if (found == kept_.end()) {
    if (!kept_.empty()) kept_.pop_back();
    const std::size_t size = in_cache_lines(bytes);
    kept_.push_back({nullptr, size});
    found = kept_.end() - 1;
    found->memory.reset(static_cast<std::byte*>(std::aligned_alloc(kCacheLine, size)));
  }
  Allocation allocation = std::move(*found);
  kept_.erase(found);
  if (!allocation.memory) throw std::bad_alloc();
  taken_.push_back(std::move(allocation));
  return taken_.back().memory.get();
}

void StagingPool::give(std::byte* memory) {
  const auto found = std::find_if(taken_.begin(), taken_.end(), [&](const Allocation& allocation) { return allocation.memory.get() == memory; });
  if (found == taken_.end()) {
    if (shared_) shared_->free(memory);
    return;
  }
  kept_.push_back(std::move(*found));
  taken_.erase(found);
}

StagingBuffer::StagingBuffer(std::shared_ptr<StagingPool> pool, Offer& offer, const Detachable& detachable, bool is_under_way)
    : pool_(std::move(pool)), offer_(offer) {
  const std::size_t bytes = place(detachable);
  if (is_empty()) return;
  memory_ = pool_->take(bytes);
  for (const Copy& copy : inputs_) {
    coll::copy(memory_ + copy.offset, copy.own, copy.bytes);
    offer_.buffers.inputs[copy.index] = memory_ + copy.offset;
  }
  for (const Copy& copy : outputs_) {
    if (is_under_way && input_at(copy.own, copy.bytes) == nullptr) coll::copy(memory_ + copy.offset, copy.own, copy.bytes);
    offer_.buffers.outputs[copy.index] = memory_ + copy.offset;
  }
}

StagingBuffer::~StagingBuffer() {
  for (const Copy& copy : inputs_) offer_.buffers.inputs[copy.index] = copy.own;
  for (const Copy& copy : outputs_) offer_.buffers.outputs[copy.index] = copy.own;
  if (memory_ != nullptr) pool_->give(memory_);
}

void StagingBuffer::deliver() const {
  for (const Copy& copy : outputs_) coll::copy(copy.own, memory_ + copy.offset, copy.bytes);
}

bool StagingBuffer::is_read_by(const Offer& other) const {
  const auto& inputs = other.buffers.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::byte* const end = inputs[i] + other.bytes_of_piece(i, other.input_bytes());
    const auto overlaps = [&](const Copy& copy) { return copy.own < end && inputs[i] < copy.own + copy.bytes; };
    if (std::any_of(outputs_.begin(), outputs_.end(), overlaps)) return true;
  }
  return false;
}

// Assigns staging memory to each piece that is copied, and returns its total size. Other pieces are
// used where they are.
std::size_t StagingBuffer::place(const Detachable& detachable) {
  const Buffers& buffers = offer_.buffers;
  std::size_t end = 0;
  for (std::size_t i = 0; i < buffers.inputs.size(); ++i) {
    const std::size_t bytes = offer_.bytes_of_piece(i, offer_.input_bytes());
    if (!is_moved(*pool_, detachable.inputs[i], buffers.inputs[i], bytes)) continue;
    inputs_.push_back({i, const_cast<std::byte*>(buffers.inputs[i]), bytes, end});
    end += in_cache_lines(bytes);
  }
  for (std::size_t i = 0; i < buffers.outputs.size(); ++i) {
    const std::size_t bytes = offer_.bytes_of_piece(i, offer_.output_bytes());
    if (!is_moved(*pool_, detachable.outputs[i], buffers.outputs[i], bytes)) continue;
    const Copy* const input = input_at(buffers.outputs[i], bytes);
    outputs_.push_back({i, buffers.outputs[i], bytes, input != nullptr ? input->offset : end});
    if (input == nullptr) end += in_cache_lines(bytes);
  }
  return end;
}

const StagingBuffer::Copy* StagingBuffer::input_at(const std::byte* own, std::size_t bytes) const {
  // Input and output of a piece that is used in place share one copy.
  const auto found = std::find_if(inputs_.begin(), inputs_.end(), [&](const Copy& copy) { return copy.own == own && copy.bytes == bytes; });
  return found == inputs_.end() ? nullptr : &*found;
}

}  // namespace coll

#endif

#pragma once

#if defined(__linux__)

#include <napi.h>

#include <memory>

#include "../shared/shared_memory.h"
#include "handles.h"

namespace coll {

using SegmentPointer = std::shared_ptr<Segment>;
using MemoryPointer = std::shared_ptr<SharedMemory>;

template <>
inline constexpr HandleKind kHandle<SegmentPointer> = handle_kind("segment", 6);
template <>
inline constexpr HandleKind kHandle<MemoryPointer> = handle_kind("memory", 7);

// The value of a handle. Both throw Error once it was released.
const SegmentPointer& segment_of(const Napi::Value& handle);
const MemoryPointer& memory_of(const Napi::Value& handle);

// The size of a ring, through which a pair of ranks sends messages.
constexpr std::size_t kRingBytes = 512 * 1024;

// The lower rank's ring for a higher rank. Throws Error if it was not made.
std::byte* ring_of(Segment& segment, int higher);

void add_segments(Napi::Object exports);

}  // namespace coll

#endif

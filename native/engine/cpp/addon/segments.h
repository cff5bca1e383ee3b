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

// Of a handle. Both throw Error where it was released.
const SegmentPointer& segment_of(const Napi::Value& handle);
const MemoryPointer& memory_of(const Napi::Value& handle);

// Of a pair that sends each other messages through memory.
constexpr std::size_t kRingBytes = 512 * 1024;

// Where the lower rank of a pair has the ring for a higher one. Throws Error where that has not been made.
std::byte* ring_of(Segment& segment, int higher);

void add_segments(Napi::Object exports);

}  // namespace coll

#endif

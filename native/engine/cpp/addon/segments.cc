#include "segments.h"

#if defined(__linux__)

#include <algorithm>
#include <cstring>

#include "exports.h"
#include "memory.h"

namespace coll {
namespace {

int rank_with_mark(const Napi::Value& number) { return integer_of(number, "rank", 0, Segment::kMostMarks - 1); }

int ranks_with_rings(const Napi::Value& number) { return integer_of(number, "ranks", 0, Segment::kMostMarks); }

std::size_t bytes_with_rings(int ranks) { return Segment::first_free() + static_cast<std::size_t>(ranks) * kRingBytes; }

// segment(maxBytes: number, ranks: number): [External, info: Uint8Array]; with room for `maxBytes`
// of tensors (0: as much as there is), and for rings
Napi::Value make_segment(const Napi::CallbackInfo& info) {
  const std::size_t most = count_of(info[0], "maxBytes");
  const std::size_t wanted = most > 0 ? SharedMemory::fixed_bytes() + most : Segment::usual_bound();
  const auto segment = Segment::create(std::max(wanted, bytes_with_rings(ranks_with_rings(info[1]))));
  const SegmentInfo& segment_info = segment->info();
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), sizeof segment_info);
  std::memcpy(bytes.Data(), &segment_info, sizeof segment_info);
  Napi::Array result = Napi::Array::New(info.Env(), 2);
  result.Set(0u, hold(info.Env(), new SegmentPointer(segment)));
  result.Set(1u, bytes);
  return result;
}

// openSegment(info: Uint8Array, rank: number): External; leaves the mark of this rank there
Napi::Value open_segment(const Napi::CallbackInfo& info) {
  SegmentInfo segment_info{};
  const Elements bytes = elements_of(info[0], napi_uint8_array, "info");
  if (bytes.count != sizeof segment_info) throw WrongArgument("info must have " + std::to_string(sizeof segment_info) + " bytes, got " + std::to_string(bytes.count));
  std::memcpy(&segment_info, bytes.begin, sizeof segment_info);
  const int rank = rank_with_mark(info[1]);
  SegmentPointer segment = Segment::open(segment_info);
  segment->leave_mark(rank);
  return hold(info.Env(), new SegmentPointer(std::move(segment)));
}

// makeRings(segment, ranks: number): makes rings for all ranks, in a segment that has nothing else
Napi::Value make_rings(const Napi::CallbackInfo& info) {
  segment_of(info[0])->grow_to(bytes_with_rings(ranks_with_rings(info[1])));
  return info.Env().Undefined();
}

// hasMark(segment, rank: number): boolean, whether this rank has opened the segment
Napi::Value has_mark(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), segment_of(info[0])->has_mark_of(rank_with_mark(info[1])));
}

// releaseSegment(segment): frees its memory and descriptor as soon as nothing else uses them
Napi::Value release_segment(const Napi::CallbackInfo& info) {
  held<SegmentPointer>(info[0]).reset();
  return info.Env().Undefined();
}

// releaseMemory(memory): the same, as soon as no tensor is left
Napi::Value release_memory(const Napi::CallbackInfo& info) {
  held<MemoryPointer>(info[0]).reset();
  return info.Env().Undefined();
}

// sharedMemory(rank: number, segments: External[]): External
Napi::Value shared_memory(const Napi::CallbackInfo& info) {
  const Napi::Array list = array_of(info[1], "segments");
  if (list.Length() == 0) throw WrongArgument("segments must be those of all ranks, got none");
  const int rank = integer_of(info[0], "rank", 0, static_cast<int>(list.Length()) - 1);
  std::vector<SegmentPointer> segments;
  for (std::uint32_t i = 0; i < list.Length(); ++i) segments.push_back(segment_of(list.Get(i)));
  return hold(info.Env(), new MemoryPointer(std::make_shared<SharedMemory>(rank, std::move(segments))));
}

// allocate(memory, bytes: number): ArrayBuffer, which keeps `memory` alive
Napi::Value allocate(const Napi::CallbackInfo& info) {
  const MemoryPointer& memory = memory_of(info[0]);
  const std::size_t bytes = count_of(info[1], "bytes");
  std::byte* const data = memory->allocate(bytes);
  const auto free = [](Napi::Env, void* data, MemoryPointer* memory) {
    (*memory)->free(static_cast<std::byte*>(data));
    delete memory;
  };
  return Napi::ArrayBuffer::New(info.Env(), data, bytes, free, new MemoryPointer(memory));
}

}  // namespace

const SegmentPointer& segment_of(const Napi::Value& handle) {
  const SegmentPointer& segment = held<SegmentPointer>(handle);
  if (!segment) throw Error("this segment was released");
  return segment;
}

const MemoryPointer& memory_of(const Napi::Value& handle) {
  const MemoryPointer& memory = held<MemoryPointer>(handle);
  if (!memory) throw Error("the group was closed");
  return memory;
}

std::byte* ring_of(Segment& segment, int higher) {
  const std::size_t offset = Segment::first_free() + static_cast<std::size_t>(higher) * kRingBytes;
  if (!segment.reaches(offset, kRingBytes)) throw Error("the memory of another rank has no room for messages");
  return segment.begin() + offset;
}

void add_segments(Napi::Object exports) {
  add<make_segment>(exports, "segment");
  add<open_segment>(exports, "openSegment");
  add<make_rings>(exports, "makeRings");
  add<has_mark>(exports, "hasMark");
  add<release_segment>(exports, "releaseSegment");
  add<shared_memory>(exports, "sharedMemory");
  add<release_memory>(exports, "releaseMemory");
  add<allocate>(exports, "allocate");
}

}  // namespace coll

#endif

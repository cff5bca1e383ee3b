#include "segments.h"

#if defined(__linux__)

#include <algorithm>
#include <cstring>

#include "exports.h"
#include "memory.h"

namespace coll {
namespace {

Segment& segment_of(const Napi::Value& value) {
  const SharedSegment& segment = held<SharedSegment>(value);
  if (!segment) throw Error("this segment was released");
  return *segment;
}

std::size_t bytes_with_rings(int ranks) { return Segment::first_free() + static_cast<std::size_t>(ranks) * kRingBytes; }

// segment(maxBytes: number, ranks: number): [External, card: Uint8Array]; `maxBytes` of tensors, or as much as there is, or rings
Napi::Value make_segment(const Napi::CallbackInfo& info) {
  const double most = info[0].As<Napi::Number>().DoubleValue();
  const std::size_t wanted = most > 0 ? SharedMemory::fixed_bytes() + static_cast<std::size_t>(most) : Segment::usual_bound();
  const auto segment = Segment::create(std::max(wanted, bytes_with_rings(integer_of(info[1]))));
  const SegmentCard& card = segment->card();
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), sizeof card);
  std::memcpy(bytes.Data(), &card, sizeof card);
  Napi::Array result = Napi::Array::New(info.Env(), 2);
  result.Set(0u, hold(info.Env(), new SharedSegment(segment)));
  result.Set(1u, bytes);
  return result;
}

// openSegment(card: Uint8Array, rank: number): External; leaves the mark of this rank there
Napi::Value open_segment(const Napi::CallbackInfo& info) {
  SegmentCard card{};
  if (info[0].As<Napi::TypedArray>().ByteLength() != sizeof card) throw Error("a card of shared memory has another size");
  std::memcpy(&card, address_of(info[0]), sizeof card);
  SharedSegment segment = Segment::open(card);
  segment->leave_mark(integer_of(info[1]));
  return hold(info.Env(), new SharedSegment(std::move(segment)));
}

// makeRings(segment, ranks: number): rings for all ranks, in a segment that has nothing else
Napi::Value make_rings(const Napi::CallbackInfo& info) {
  segment_of(info[0]).grow_to(bytes_with_rings(integer_of(info[1])));
  return info.Env().Undefined();
}

// hasMark(segment, rank: number): boolean
Napi::Value has_mark(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), segment_of(info[0]).has_mark_of(integer_of(info[1])));
}

// releaseSegment(segment): its memory and its descriptor, as soon as nobody else uses them
Napi::Value release_segment(const Napi::CallbackInfo& info) {
  held<SharedSegment>(info[0]).reset();
  return info.Env().Undefined();
}

// releaseMemory(memory): the same, as soon as no tensor is left
Napi::Value release_memory(const Napi::CallbackInfo& info) {
  held<Memory>(info[0]).reset();
  return info.Env().Undefined();
}

// sharedMemory(rank: number, segments: External[]): External
Napi::Value shared_memory(const Napi::CallbackInfo& info) {
  const Napi::Array list = info[1].As<Napi::Array>();
  std::vector<SharedSegment> segments;
  for (std::uint32_t i = 0; i < list.Length(); ++i) segments.push_back(held<SharedSegment>(list.Get(i)));
  return hold(info.Env(), new Memory(std::make_shared<SharedMemory>(integer_of(info[0]), std::move(segments))));
}

// allocate(memory, bytes: number): ArrayBuffer; the memory lives as long as that
Napi::Value allocate(const Napi::CallbackInfo& info) {
  const Memory& memory = held<Memory>(info[0]);
  if (!memory) throw Error("the group was closed");
  const auto bytes = static_cast<std::size_t>(info[1].As<Napi::Number>().DoubleValue());
  std::byte* const data = memory->allocate(bytes);
  const auto free = [](Napi::Env, void* data, Memory* memory) {
    (*memory)->free(static_cast<std::byte*>(data));
    delete memory;
  };
  return Napi::ArrayBuffer::New(info.Env(), data, bytes, free, new Memory(memory));
}

}  // namespace

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

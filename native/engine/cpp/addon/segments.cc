#include "segments.h"

#if defined(__linux__)

#include <cstring>

#include "exports.h"
#include "memory.h"

namespace coll {
namespace {

// segment(maxBytes: number): [External, card: Uint8Array]
Napi::Value make_segment(const Napi::CallbackInfo& info) {
  const double most = info[0].As<Napi::Number>().DoubleValue();
  const auto segment = most > 0 ? Segment::create(static_cast<std::size_t>(most)) : Segment::create();
  const SegmentCard& card = segment->card();
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), sizeof card);
  std::memset(bytes.Data(), 0, sizeof card);
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
  const std::size_t ranks = static_cast<std::size_t>(integer_of(info[1]));
  held<SharedSegment>(info[0])->grow_to(Segment::first_free() + ranks * kRingBytes);
  return info.Env().Undefined();
}

// hasMark(segment, rank: number): boolean
Napi::Value has_mark(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), held<SharedSegment>(info[0])->has_mark_of(integer_of(info[1])));
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
  add<shared_memory>(exports, "sharedMemory");
  add<allocate>(exports, "allocate");
}

}  // namespace coll

#endif

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coll {

// The memory of a flight recorder, which packages/core/src/record/layout.ts describes: the fields
// that native code reads or writes. JavaScript writes the others. Times are microseconds of the
// monotonic clock.
namespace record_layout {

constexpr std::size_t kSystemThread = 40;
constexpr std::size_t kEnd = 44;
constexpr std::size_t kCurrent = 52;
constexpr std::size_t kThreadState = 68;
constexpr std::size_t kSystemCall = 72;
constexpr std::size_t kAlive = 96;
constexpr std::size_t kAliveWall = 104;
constexpr std::size_t kResidentBytes = 120;
constexpr std::size_t kCpuTime = 128;

constexpr std::size_t kCalls = 1024 + 64 * 256 + 64 * 512;
constexpr std::size_t kCallBytes = 64;
constexpr std::size_t kCallCount = 4096;
constexpr std::size_t kBytes = kCalls + kCallBytes * kCallCount;

// Fields of a call.
constexpr std::size_t kState = 12;
constexpr std::size_t kWaitedFor = 16;
constexpr std::size_t kBytesOfRank = 24;
constexpr std::size_t kBegun = 32;
constexpr std::size_t kFirstData = 40;
constexpr std::size_t kEnded = 48;
constexpr std::size_t kWaited = 56;

}  // namespace record_layout

// A field of a record, which other threads and processes read at any time.
template <class T>
std::atomic<T>& field_at(std::byte* record, std::size_t offset) {
  static_assert(std::atomic<T>::is_always_lock_free && sizeof(std::atomic<T>) == sizeof(T));
  return *reinterpret_cast<std::atomic<T>*>(record + offset);
}

template <class T>
T read_field(std::byte* record, std::size_t offset) {
  return field_at<T>(record, offset).load(std::memory_order_relaxed);
}

template <class T>
void write_field(std::byte* record, std::size_t offset, T value) {
  field_at<T>(record, offset).store(value, std::memory_order_relaxed);
}

}  // namespace coll

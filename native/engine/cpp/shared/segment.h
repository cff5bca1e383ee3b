#pragma once

#if defined(__linux__)

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace coll {

// What another process of the host has to know to open a segment, and to see that it is the right one. Not for strangers.
struct SegmentInfo {
  std::int64_t pid;
  std::int32_t descriptor;  // of that process
  std::int32_t unused;      // 0: others see all bytes
  std::uint64_t device;
  std::uint64_t inode;
  std::array<std::uint8_t, 16> token;
};

// Memory of one process that others of the host map as well. It grows and never shrinks, so that nobody falls off its end, and it lasts
// as long as somebody maps it: what a process leaves behind when it dies can still be read.
class Segment {
 public:
  // Ranks that can leave a mark.
  static constexpr int kMostMarks = 1024;
  // Usable from the start.
  static constexpr std::size_t kReadyBytes = std::size_t{1} << 20;

  // A new one. Address space for `most_bytes` is taken at once, and memory only when it is used. Throws Error.
  static std::shared_ptr<Segment> create(std::size_t most_bytes = usual_bound());
  // Another process's, or this one's. Throws Error with the reason where it cannot be had.
  static std::shared_ptr<Segment> open(const SegmentInfo& info);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const SegmentInfo& info() const { return info_; }
  std::byte* begin() const { return memory_; }
  std::size_t most_bytes() const { return most_bytes_; }
  // The first byte that is nobody's yet; those before it are for the segment itself.
  static std::size_t first_free();

  // Makes the first `bytes` usable. Only for who created it; throws Error where the system refuses or they are too many.
  void grow_to(std::size_t bytes);
  // Gives the system memory back, by whole pages, which are zeros from then on; false where it takes none.
  bool give_back(std::size_t offset, std::size_t bytes);
  // Whether `bytes` from `offset` can be touched.
  bool reaches(std::size_t offset, std::size_t bytes);

  // The trial: whoever has opened a segment leaves its mark there, for its owner to find. Throws Error for a rank of `kMostMarks` or more.
  void leave_mark(int rank);
  bool has_mark_of(int rank) const;

  // The memory of this machine, or as much as leaves address space for many.
  static std::size_t usual_bound();

 private:
  struct Head;
  std::atomic<std::uint64_t>& mark_of(int rank) const;
  Segment(int descriptor, SegmentInfo info) : descriptor_(descriptor), info_(info) {}
  Head& head() const;
  void map(std::size_t most_bytes);

  const int descriptor_;
  SegmentInfo info_;
  std::byte* memory_ = nullptr;
  std::size_t most_bytes_ = 0;
  std::atomic<std::size_t> bytes_{0};  // known to be usable
};

}  // namespace coll

#endif

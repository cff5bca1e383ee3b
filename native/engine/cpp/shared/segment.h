#pragma once

#if defined(__linux__)

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace coll {

// The data with which another process of the host opens a segment and checks that it is the right
// one. Must not be shown to other users.
struct SegmentInfo {
  std::int64_t pid;
  std::int32_t descriptor;  // of that process
  std::int32_t unused;      // 0, so that other processes see all bytes initialized
  std::uint64_t device;
  std::uint64_t inode;
  std::array<std::uint8_t, 16> token;
};

// Memory of one process that other processes of the host map as well. It never shrinks, so that
// mapped memory stays valid, and it exists as long as any process maps it: what a process has
// written can still be read after it dies.
class Segment {
 public:
  // The number of ranks that can leave a mark.
  static constexpr int kMostMarks = 1024;
  // The number of bytes that are usable from the start.
  static constexpr std::size_t kReadyBytes = std::size_t{1} << 20;

  // Creates a segment. Reserves address space for `most_bytes` at once, but memory only as it is
  // used. Throws Error.
  static std::shared_ptr<Segment> create(std::size_t most_bytes = usual_bound());
  // Opens a segment of this or another process. Throws Error with the reason if that fails.
  static std::shared_ptr<Segment> open(const SegmentInfo& info);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const SegmentInfo& info() const { return info_; }
  std::byte* begin() const { return memory_; }
  std::size_t most_bytes() const { return most_bytes_; }
  // The offset of the first free byte; the bytes before it belong to the segment itself.
  static std::size_t first_free();

  // Makes the first `bytes` usable. Only for the process that created it. Throws Error if the
  // system refuses or if there are too many.
  void grow_to(std::size_t bytes);
  // Returns whole pages to the system, which are zero from then on. False if the system refuses.
  bool give_back(std::size_t offset, std::size_t bytes);
  // Whether `bytes` from `offset` may be accessed.
  bool reaches(std::size_t offset, std::size_t bytes);

  // Each rank that opens a segment leaves a mark in it. The owner checks the marks, which proves
  // that the memory is shared. Throws Error for a rank of `kMostMarks` or more.
  void leave_mark(int rank);
  bool has_mark_of(int rank) const;

  // The default size: that of the machine's memory, or less, so that address space is left for many
  // segments.
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
  std::atomic<std::size_t> bytes_{0};  // bytes known to be usable
};

}  // namespace coll

#endif

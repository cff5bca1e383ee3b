#include "segment.h"

#if defined(__linux__)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "../error.h"
#include "huge_pages.h"

namespace coll {
namespace {

constexpr std::uint64_t kMagic = 0x32746e656d676573;  // "segment2"
// An upper bound on the size: no machine has more memory, and an invalid info must not reserve more
// address space.
constexpr std::size_t kMostBytes = std::size_t{1} << 42;
// Processes have address space for 2^47 bytes.
constexpr std::size_t kUsualBytes = std::size_t{1} << 39;

Error failure(const std::string& what) { return Error(what + ": " + std::strerror(errno)); }

std::size_t in_system_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// Owns a descriptor, and closes it unless it is taken.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int take() { return std::exchange(number_, -1); }

 private:
  int number_;
};

struct stat status_of(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw failure("cannot inspect a shared-memory segment");
  return status;
}

}  // namespace

struct Segment::Head {
  std::uint64_t magic;
  std::uint64_t most_bytes;
  std::array<std::uint8_t, 16> token;
  std::atomic<std::uint64_t> marks[kMostMarks];
};

std::size_t Segment::usual_bound() {
  return std::min(static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), kUsualBytes);
}

std::size_t Segment::first_free() {
  static const std::size_t first = in_system_pages(sizeof(Head));
  return first;
}

std::shared_ptr<Segment> Segment::create(std::size_t most_bytes) {
  Descriptor descriptor(memfd_create("coll", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (descriptor.number() < 0) throw failure("cannot create shared memory");
  if (fcntl(descriptor.number(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) throw failure("cannot seal shared memory against shrinking");
  const struct stat status = status_of(descriptor.number());
  SegmentInfo info{getpid(), descriptor.number(), 0, status.st_dev, status.st_ino, {}};
  const ssize_t drawn = getrandom(info.token.data(), info.token.size(), 0);
  if (drawn != static_cast<ssize_t>(info.token.size())) throw failure("cannot get random bytes");
  std::shared_ptr<Segment> segment(new Segment(descriptor.take(), info));
  segment->map(std::clamp(in_system_pages(most_bytes), kReadyBytes, kMostBytes));
  segment->grow_to(kReadyBytes);
  Head& head = segment->head();
  head.magic = kMagic;
  head.most_bytes = segment->most_bytes_;
  head.token = info.token;
  return segment;
}

std::shared_ptr<Segment> Segment::open(const SegmentInfo& info) {
  const std::string path = "/proc/" + std::to_string(info.pid) + "/fd/" + std::to_string(info.descriptor);
  Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (descriptor.number() < 0) throw failure("shared memory of process " + std::to_string(info.pid) + " cannot be opened");
  const struct stat status = status_of(descriptor.number());
  const int seals = fcntl(descriptor.number(), F_GET_SEALS);
  const bool is_right = status.st_dev == info.device && status.st_ino == info.inode && seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  const std::string wrong =
      "process " + std::to_string(info.pid) + " does not have the expected shared memory: is it in another container?";
  if (!is_right || static_cast<std::size_t>(status.st_size) < kReadyBytes) throw Error(wrong);
  std::shared_ptr<Segment> segment(new Segment(descriptor.take(), info));
  segment->map(first_free());
  const std::size_t most_bytes = segment->head().most_bytes;
  if (segment->head().magic != kMagic || segment->head().token != info.token) throw Error(wrong);
  if (most_bytes < kReadyBytes || most_bytes > kMostBytes || most_bytes != in_system_pages(most_bytes)) throw Error(wrong);
  segment->map(most_bytes);
  return segment;
}

Segment::~Segment() {
  if (memory_ != nullptr) munmap(memory_, most_bytes_);
  close(descriptor_);
}

// Maps memory beyond the end of the file, which must not be touched yet, so that growing moves
// nothing.
void Segment::map(std::size_t most_bytes) {
  if (memory_ != nullptr) munmap(memory_, most_bytes_);
  memory_ = map_for_huge_pages(descriptor_, most_bytes);
  if (memory_ == nullptr) throw failure("no address space is left for " + std::to_string(most_bytes) + " bytes of shared memory");
  most_bytes_ = most_bytes;
  // Child processes do not take part in the group, so they need no mapping.
  madvise(memory_, most_bytes_, MADV_DONTFORK);
}

Segment::Head& Segment::head() const { return *reinterpret_cast<Head*>(memory_); }

void Segment::grow_to(std::size_t bytes) {
  if (bytes <= bytes_) return;
  if (bytes > most_bytes_) {
    throw Error("shared memory is limited to " + std::to_string(most_bytes_) + " bytes, but " + std::to_string(bytes) + " are needed");
  }
  // Grows in large steps, since each is a system call.
  const std::size_t grown = std::min((bytes + kReadyBytes - 1) / kReadyBytes * kReadyBytes, most_bytes_);
  if (ftruncate(descriptor_, static_cast<off_t>(grown)) != 0) {
    throw failure("shared memory cannot grow to " + std::to_string(grown) + " bytes");
  }
  bytes_ = grown;
}

bool Segment::give_back(std::size_t offset, std::size_t bytes) {
  const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  return fallocate(descriptor_, how, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

bool Segment::reaches(std::size_t offset, std::size_t bytes) {
  if (offset > most_bytes_ || bytes > most_bytes_ - offset) return false;
  if (offset + bytes <= bytes_) return true;
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return false;
  bytes_ = std::min(static_cast<std::size_t>(status.st_size), most_bytes_);
  return offset + bytes <= bytes_;
}

std::atomic<std::uint64_t>& Segment::mark_of(int rank) const {
  if (rank < 0 || rank >= kMostMarks) throw Error("shared memory has no room for the mark of rank " + std::to_string(rank));
  return head().marks[rank];
}

void Segment::leave_mark(int rank) {
  std::uint64_t mark = 0;
  std::memcpy(&mark, info_.token.data(), sizeof mark);
  mark_of(rank).store(mark);
}

bool Segment::has_mark_of(int rank) const {
  std::uint64_t mark = 0;
  std::memcpy(&mark, info_.token.data(), sizeof mark);
  return mark_of(rank).load() == mark;
}

}  // namespace coll

#endif

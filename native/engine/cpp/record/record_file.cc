#include "record_file.h"

#if defined(__linux__)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../error.h"

namespace coll {
namespace {

std::byte* map_shared(int descriptor, std::size_t bytes) {
  // Memory of a file that only grows at the first write could run out of space then.
  const int refusal = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  if (refusal != 0) throw Error(std::string("cannot reserve space: ") + std::strerror(refusal));
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) throw Error(std::string("cannot map the file: ") + std::strerror(errno));
  return static_cast<std::byte*>(memory);
}

}  // namespace

RecordFile::RecordFile(const std::string& path, std::size_t bytes) : bytes_(bytes) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) throw Error(std::string("cannot create the file: ") + std::strerror(errno));
  try {
    begin_ = map_shared(descriptor, bytes);
  } catch (const Error&) {
    unlink(path.c_str());
    close(descriptor);
    throw;
  }
  close(descriptor);
}

RecordFile::~RecordFile() { munmap(begin_, bytes_); }

}  // namespace coll

#endif

#pragma once

#if defined(__linux__)

#include <cstddef>
#include <memory>
#include <string>

namespace coll {

// A file that is mapped into memory, which outlives the process.
class RecordFile {
 public:
  // Creates the file, which must not exist, for this user only, and fills it with zeros. Its space
  // is reserved: memory of a file without space ends the process at the first write. Throws Error
  // with the reason if any of this fails, and leaves no file.
  RecordFile(const std::string& path, std::size_t bytes);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  std::byte* begin() const { return begin_; }

 private:
  std::byte* begin_;
  std::size_t bytes_;
};

}  // namespace coll

#endif

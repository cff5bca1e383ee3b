#if defined(__linux__)

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "../error.h"
#include "../record/record.h"
#include "../record/record_file.h"
#include "../record/thread_record.h"

namespace coll {
namespace {

using namespace record_layout;

// A folder that is removed together with its only file.
class Folder {
 public:
  Folder() { mkdtemp(path_.data()); }
  ~Folder() {
    unlink(file().c_str());
    rmdir(path_.c_str());
  }
  std::string file() const { return path_ + "/record"; }
  bool has_file() const { return access(file().c_str(), F_OK) == 0; }

 private:
  std::string path_ = "/tmp/coll-record-XXXXXX";
};

struct alignas(8) Memory {
  std::byte bytes[kBytes] = {};
};

TEST(RecordFile, IsForItsUserOnlyAndShared) {
  const Folder folder;
  RecordFile file(folder.file(), kBytes);
  write_field(file.begin(), kCurrent, std::int32_t{7});
  struct stat status {};
  ASSERT_EQ(stat(folder.file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), kBytes);
  EXPECT_GE(static_cast<std::size_t>(status.st_blocks) * 512, kBytes);
  std::int32_t read = 0;
  std::FILE* const stream = std::fopen(folder.file().c_str(), "rb");
  std::fseek(stream, static_cast<long>(kCurrent), SEEK_SET);
  EXPECT_EQ(std::fread(&read, sizeof read, 1, stream), 1u);
  std::fclose(stream);
  EXPECT_EQ(read, 7);
}

TEST(RecordFile, RefusesFilesAndLinksThatExist) {
  const Folder folder;
  ASSERT_EQ(symlink("/dev/null", folder.file().c_str()), 0);
  EXPECT_THROW(RecordFile(folder.file(), kBytes), Error);
}

TEST(RecordFile, LeavesNoFileIfThereIsNoRoom) {
  const Folder folder;
  EXPECT_THROW(RecordFile(folder.file(), std::size_t{1} << 60), Error);
  EXPECT_FALSE(folder.has_file());
}

TEST(ThreadRecord, GetsAPulseUntilTheThreadEnds) {
  std::vector<Memory> records(4);
  std::vector<std::thread> threads;
  for (Memory& memory : records) {
    threads.emplace_back([&memory] {
      std::byte* const record = memory.bytes;
      attach_record(record);
      EXPECT_EQ(thread_record, record);
      EXPECT_EQ(read_field<std::int32_t>(record, kSystemThread), static_cast<std::int32_t>(syscall(SYS_gettid)));
      const double first = read_field<double>(record, kAlive);
      EXPECT_GT(first, 0);
      while (read_field<double>(record, kAlive) == first) std::this_thread::yield();
      EXPECT_GT(read_field<double>(record, kResidentBytes), 0);
      EXPECT_GT(read_field<double>(record, kCpuTime), 0);
      detach_record(record);
      EXPECT_EQ(thread_record, nullptr);
      EXPECT_EQ(read_field<std::int32_t>(record, kEnd), 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ThreadRecord, MayBeReplacedAndDetachedTwice) {
  Memory first;
  Memory second;
  for (int round = 0; round < 100; ++round) {
    attach_record(first.bytes);
    attach_record(second.bytes);
    detach_record(first.bytes);
    EXPECT_EQ(thread_record, second.bytes);
    detach_record(second.bytes);
    detach_record(second.bytes);
  }
}

}  // namespace
}  // namespace coll

#endif

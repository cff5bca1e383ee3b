#if defined(__linux__)

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../error.h"
#include "../record/call_stamp.h"
#include "../record/record.h"
#include "../record/record_file.h"
#include "../record/thread_record.h"
#include "../threads/waiter.h"

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

// The record of a thread that executes the call in the first slot.
class CallStamps : public testing::Test {
 protected:
  CallStamps() {
    attach_record(memory_->bytes);
    write_field(memory_->bytes, kCurrent, std::int32_t{1});
  }
  ~CallStamps() override { detach_record(memory_->bytes); }

  void set_bytes(double bytes) { write_field(call(), kBytesOfRank, bytes); }
  std::byte* call() { return memory_->bytes + kCalls; }
  double time_of(std::size_t field) { return read_field<double>(call(), field); }
  // The time that a stamp of a small call would write now.
  static double latest_tick() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
  }
  static double now() { return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count(); }

 private:
  const std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
};

TEST_F(CallStamps, AreOfTheLatestTickForSmallCalls) {
  const double before = now();
  const CallStamp stamp;
  const double begun = time_of(kBegun);
  EXPECT_LE(begun, now());
  // Ticks are at most 10 ms apart.
  EXPECT_GE(begun, before - 20e3);
  EXPECT_EQ(time_of(kEnded), 0);
  stamp.end();
  EXPECT_GE(time_of(kEnded), begun);
}

TEST_F(CallStamps, AreExactForLargeCalls) {
  set_bytes(1 << 20);
  const double before = now();
  const CallStamp stamp;
  EXPECT_GE(time_of(kBegun), before);
  stamp.end();
  EXPECT_GE(time_of(kEnded), time_of(kBegun));
}

TEST_F(CallStamps, KeepTheBeginOfACallInParts) {
  const CallStamp first;
  const double begun = time_of(kBegun);
  while (latest_tick() == begun) std::this_thread::yield();
  const CallStamp second;
  EXPECT_EQ(time_of(kBegun), begun);
}

TEST_F(CallStamps, ContainWaitsButNoShortOnes) {
  const CallStamp stamp;
  WaitStamp wait;
  const Clock::time_point start = Clock::now();
  EXPECT_FALSE(wait.look(start));
  EXPECT_FALSE(wait.look(start + kLeastRecordedWait / 2));
  wait.end(true);
  EXPECT_EQ(time_of(kWaited), 0);
  EXPECT_FALSE(wait.look(start));
  EXPECT_TRUE(wait.look(start + kLeastRecordedWait));
  wait.record(3);
  EXPECT_EQ(read_field<std::int32_t>(call(), kWaitedFor), 4);
  EXPECT_EQ(read_field<std::uint8_t>(call(), kState), 3);
  EXPECT_GE(time_of(kBegun), std::chrono::duration<double>(start.time_since_epoch()).count());
  wait.end(true);
  EXPECT_GT(time_of(kWaited), 0);
  EXPECT_EQ(read_field<std::uint8_t>(call(), kState), 2);
}

TEST_F(CallStamps, ContainTheWaitForARankThatDoesNotArrive) {
  std::atomic<std::uint32_t> words[2] = {1, 0};
  std::atomic<int> cores[2] = {};
  std::atomic<std::uint32_t> openings{0};
  std::atomic<std::uint32_t> sleepers{0};
  const std::atomic<std::int32_t> failure{0};
  Waiter waiter(0, {&cores[0], &cores[1]}, Gate{openings, sleepers}, LocalRank{0, 2, 2}, failure, Reach::kProcess);
  const CallStamp stamp;
  EXPECT_FALSE(waiter.await_all({&words[0], &words[1]}, 1, waiter.blocking(5)));
  EXPECT_GE(time_of(kWaited), 4e3);
  EXPECT_EQ(read_field<std::int32_t>(call(), kWaitedFor), 2);
  EXPECT_EQ(read_field<std::uint8_t>(call(), kState), 3);
}

TEST_F(CallStamps, ContainWaitsInAnotherThread) {
  std::byte* const made = recorded_call();
  std::thread([made] {
    EXPECT_EQ(recorded_call(), nullptr);
    const ContinuedCall continued(made);
    EXPECT_EQ(recorded_call(), made);
    WaitStamp wait;
    const Clock::time_point start = Clock::now();
    EXPECT_FALSE(wait.look(start));
    EXPECT_TRUE(wait.look(start + kLeastRecordedWait));
    wait.record(2);
    wait.end(true);
  }).join();
  EXPECT_EQ(read_field<std::int32_t>(call(), kWaitedFor), 3);
  EXPECT_GT(time_of(kWaited), 0);
}

TEST(CallStamp, WritesNothingWithoutACall) {
  const CallStamp stamp;
  stamp.end();
  Memory memory;
  attach_record(memory.bytes);
  const CallStamp between_calls;
  between_calls.end();
  EXPECT_EQ(read_field<double>(memory.bytes + kCalls, kBegun), 0);
  detach_record(memory.bytes);
}

}  // namespace
}  // namespace coll

#endif

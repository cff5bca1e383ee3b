#include "pulse.h"

#if defined(__linux__)

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../linux/older_threads.h"
#include "record.h"

namespace coll {
namespace {

constexpr std::chrono::seconds kInterval{1};

double micros_of(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// The beginning of a small file of the system; empty if it cannot be read.
class SystemFile {
 public:
  explicit SystemFile(const char* path) {
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    const ssize_t count = read(descriptor, text_, sizeof text_ - 1);
    close(descriptor);
    text_[std::max<ssize_t>(count, 0)] = 0;
  }
  const char* text() const { return text_; }

 private:
  char text_[512] = {};
};

double resident_bytes() {
  const SystemFile file("/proc/self/statm");
  const char* const second = std::strchr(file.text(), ' ');
  if (second == nullptr) return 0;
  return std::strtod(second, nullptr) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// The letter after the name of the thread, which may contain parentheses itself.
std::int32_t state_of_thread(pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(thread));
  const SystemFile file(path);
  const char* const end = std::strrchr(file.text(), ')');
  return end != nullptr && end[1] == ' ' ? end[2] : 0;
}

// The number of the system call; -1 if the thread is in none, or the system does not tell.
std::int32_t system_call_of(pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", static_cast<int>(thread));
  const SystemFile file(path);
  char* end = nullptr;
  const long number = std::strtol(file.text(), &end, 10);
  return end == file.text() ? -1 : static_cast<std::int32_t>(number);
}

}  // namespace

Pulse& Pulse::of_process() {
  static Pulse* const pulse = new Pulse();
  return *pulse;
}

void Pulse::add(std::byte* record) {
  Entry entry{record, static_cast<pid_t>(syscall(SYS_gettid)), CLOCK_MONOTONIC};
  pthread_getcpuclockid(pthread_self(), &entry.cpu_clock);
  const std::lock_guard<std::mutex> starting(lifecycle_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.push_back(entry);
    write_all();
  }
  if (thread_.joinable()) return;
  // Signals are for the threads of the program.
  sigset_t all;
  sigset_t usual;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &usual);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception&) {
    // Without a thread, readers see an old pulse.
  }
  pthread_sigmask(SIG_SETMASK, &usual, nullptr);
}

void Pulse::remove(std::byte* record) {
  const std::lock_guard<std::mutex> ending(lifecycle_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_own = [&](const Entry& entry) { return entry.record == record; };
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), is_own), entries_.end());
    if (!entries_.empty()) return;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Pulse::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!entries_.empty()) {
    changed_.wait_for(lock, kInterval);
    write_all();
  }
}

void Pulse::write_all() {
  using namespace record_layout;
  if (entries_.empty()) return;
  const double bytes = resident_bytes();
  for (const Entry& entry : entries_) {
    write_field(entry.record, kResidentBytes, bytes);
    write_field(entry.record, kCpuTime, entry.cpu_clock == CLOCK_MONOTONIC ? 0.0 : micros_of(entry.cpu_clock));
    write_field(entry.record, kThreadState, state_of_thread(entry.thread));
    write_field(entry.record, kSystemCall, system_call_of(entry.thread));
    write_field(entry.record, kAliveWall, micros_of(CLOCK_REALTIME) / 1e3);
    write_field(entry.record, kAlive, micros_of(CLOCK_MONOTONIC));
  }
}

}  // namespace coll

#endif

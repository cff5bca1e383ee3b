#include "waiting.h"

#include <thread>

#include "../clock.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <optional>
#elif defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#endif

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace coll {

#if defined(__linux__)
namespace {

// The shortest time slice that Linux grants.
constexpr std::uint64_t kShortTimeSliceNanos = 100'000;

// SCHED_FLAG_RESET_ON_FORK: threads and processes that this one starts take turns as usual.
constexpr std::uint64_t kNotInherited = 1;

// The kernel's sched_attr, whose header conflicts with some versions of glibc.
struct Scheduling {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;  // of a time slice, in nanoseconds; 0 if threads cannot choose it (before Linux 6.12)
  std::uint64_t deadline;
  std::uint64_t period;
};

// The cores that this thread may use, if there are at least two.
std::optional<cpu_set_t> own_cores() {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return std::nullopt;
  return all;
}

// Moves this thread to a core of `some`: the system moves a thread at once if it may no longer use
// its core, and leaves it there when it may use all cores again.
void move_among(const cpu_set_t& some, const cpu_set_t& all) {
  if (sched_setaffinity(0, sizeof some, &some) == 0) sched_setaffinity(0, sizeof all, &all);
}

}  // namespace
#endif

void pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

void yield() { std::this_thread::yield(); }

#if defined(__linux__)

int current_core() { return sched_getcpu(); }

void leave_core(int core) {
  const std::optional<cpu_set_t> all = own_cores();
  if (!all || !CPU_ISSET(core, &*all)) return;
  cpu_set_t others = *all;
  CPU_CLR(core, &others);
  move_among(others, *all);
}

int go_to_core(int part, int parts) {
  const std::optional<cpu_set_t> all = own_cores();
  if (!all) return current_core();
  int core = -1;
  for (int left = CPU_COUNT(&*all) * part / parts; left >= 0; --left) {
    do ++core;
    while (!CPU_ISSET(core, &*all));
  }
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(core, &only);
  if (core != current_core()) move_among(only, *all);
  return core;
}

std::uint64_t take_short_time_slices() {
  Scheduling own{};
  if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) != 0 || own.policy != SCHED_OTHER || own.runtime <= kShortTimeSliceNanos) return 0;
  const std::uint64_t usual = own.runtime;
  own.runtime = kShortTimeSliceNanos;
  own.flags |= kNotInherited;
  return syscall(SYS_sched_setattr, 0, &own, 0) == 0 ? usual : 0;
}

void restore_time_slice(std::uint64_t nanos) {
  Scheduling own{};
  if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) != 0) return;
  own.runtime = nanos;
  own.flags &= ~kNotInherited;
  if (syscall(SYS_sched_setattr, 0, &own, 0) == 0) return;
  // The system has refused to clear the flag, as for all threads that may not raise priorities.
  // Keeps it.
  own.flags |= kNotInherited;
  syscall(SYS_sched_setattr, 0, &own, 0);
}

void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis, Reach reach) {
  const timespec time{millis / 1000, (millis % 1000) * 1000000L};
  const int wait = reach == Reach::kHost ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), wait, seen, &time, nullptr, 0);
}

void unpark(std::atomic<std::uint32_t>& word, Reach reach) {
  const int wake = reach == Reach::kHost ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), wake, INT_MAX, nullptr, nullptr, 0);
}

#else

int current_core() { return -1; }

void leave_core(int) {}

int go_to_core(int, int) { return -1; }

std::uint64_t take_short_time_slices() { return 0; }

void restore_time_slice(std::uint64_t) {}

#if defined(_WIN32)

void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis, Reach) {
  WaitOnAddress(&word, &seen, sizeof seen, static_cast<DWORD>(millis));
}

void unpark(std::atomic<std::uint32_t>& word, Reach) { WakeByAddressAll(&word); }

#else

// Polls in short naps, because the platform has no public call that sleeps on a word.
void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis, Reach) {
  const auto end = Clock::now() + std::chrono::milliseconds(millis);
  while (word.load() == seen && Clock::now() < end) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void unpark(std::atomic<std::uint32_t>&, Reach) {}

#endif
#endif

}  // namespace coll

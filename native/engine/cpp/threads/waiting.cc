#include "waiting.h"

#include <thread>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#elif defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#else
#include <chrono>
#endif

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace coll {

void pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

void yield() { std::this_thread::yield(); }

#if defined(__linux__)

void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis) {
  const timespec time{millis / 1000, (millis % 1000) * 1000000L};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
}

void unpark(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

#elif defined(_WIN32)

void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis) {
  WaitOnAddress(&word, &seen, sizeof seen, static_cast<DWORD>(millis));
}

void unpark(std::atomic<std::uint32_t>& word) { WakeByAddressAll(&word); }

#else

// No public call sleeps on a word here: short naps stand for it.
void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(millis);
  while (word.load() == seen && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void unpark(std::atomic<std::uint32_t>&) {}

#endif

}  // namespace coll

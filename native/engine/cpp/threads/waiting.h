#pragma once

#include <atomic>
#include <cstdint>

namespace coll {

// Hints to the processor that this is a spin loop.
void pause();

// Takes a cache line away from other cores before it is written.
inline void claim(const void* line) {
#if defined(__x86_64__) && defined(__GNUC__)
  // Uses `prefetchw` directly: for the oldest processors that they support, compilers translate a
  // prefetch for writing into an instruction that leaves the line shared.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#elif defined(__GNUC__)
  __builtin_prefetch(line, 1);
#else
  static_cast<void>(line);
#endif
}

// Prefetches a line for reading.
inline void fetch(const void* line) {
#if defined(__GNUC__)
  __builtin_prefetch(line);
#else
  static_cast<void>(line);
#endif
}

// Gives the core to another thread.
void yield();

// Spins until `is_done`. After `spins` polls it also yields, since the system may have suspended
// the thread that it waits for.
template <class IsDone>
void spin_until(int spins, IsDone is_done) {
  for (int spin = 0; !is_done(); ++spin) spin < spins ? pause() : yield();
}

// The core that this thread runs on; -1 where that is not known.
int current_core();

// Moves this thread to another core, if the system allows it.
void leave_core(int core);

// Divides the cores that this thread may use into `parts` equal parts, moves the thread to the
// first core of part number `part`, and returns that core; -1 if the system does not report cores.
int go_to_core(int part, int parts);

// Asks the system for shorter time slices for this thread, so that it gets them sooner after it
// wakes. Needs Linux 6.12 and a thread of normal priority. Returns the previous length, for
// `restore_time_slice`; 0 if nothing has changed.
std::uint64_t take_short_time_slices();

// Restores the length that take_short_time_slices() returned.
void restore_time_slice(std::uint64_t nanos);

// Which threads may sleep on a word: those of this process, or also those of other processes that
// share its memory.
enum class Reach { kProcess, kHost };

// Sleeps while `word` equals `seen`, until unpark() or the time limit; may also return early.
void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis, Reach reach = Reach::kProcess);

// Wakes all threads that sleep on the word.
void unpark(std::atomic<std::uint32_t>& word, Reach reach = Reach::kProcess);

}  // namespace coll

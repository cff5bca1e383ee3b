#pragma once

#include <atomic>
#include <cstdint>

namespace coll {

// Hints to the processor that this is a spin loop.
void pause();

// Takes a cache line away from other cores, ahead of writing it.
inline void claim(const void* line) {
#if defined(__x86_64__) && defined(__GNUC__)
  // What the compiler makes of a prefetch for writing leaves the line shared on the oldest processors that it compiles for.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#elif defined(__GNUC__)
  __builtin_prefetch(line, 1);
#else
  static_cast<void>(line);
#endif
}

// Asks for a line that is going to be read.
inline void fetch(const void* line) {
#if defined(__GNUC__)
  __builtin_prefetch(line);
#else
  static_cast<void>(line);
#endif
}

// Lets another thread have the core.
void yield();

// Spins until `is_done`; after `spins` times it yields in between, as the system may have taken the core from the thread that it waits for.
template <class IsDone>
void spin_until(int spins, IsDone is_done) {
  for (int spin = 0; !is_done(); ++spin) spin < spins ? pause() : yield();
}

// The core that this thread runs on; -1 where that is not known.
int current_core();

// Goes to another core than this one, where the system allows it; may stay.
void leave_core(int core);

// Divides the cores that this thread may use into `parts` equal parts, moves the thread to the first core of part number `part`, and returns that
// core; -1 if the system does not report cores.
int go_to_core(int part, int parts);

// Asks the system for shorter time slices for this thread, which it then gets sooner after it wakes. Needs Linux 6.12 and a thread of normal
// priority. Returns the previous length, for `restore_time_slice`; 0 if nothing has changed.
std::uint64_t take_short_time_slices();

// Restores the length that take_short_time_slices() returned.
void restore_time_slice(std::uint64_t nanos);

// Who may sleep on a word: threads of this process, or of others that share its memory.
enum class Reach { kProcess, kHost };

// Sleeps while `word` is `seen`, until unpark() or the time is over; may also return early.
void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis, Reach reach = Reach::kProcess);

// Wakes all who sleep on the word.
void unpark(std::atomic<std::uint32_t>& word, Reach reach = Reach::kProcess);

}  // namespace coll

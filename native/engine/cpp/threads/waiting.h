#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace coll {

// How long a thread looks for something before it lets others run, how often it does both, and how long it sleeps then.
struct Patience {
  int looks = 0;
  int turns = 0;
  int sleep_millis = 0;  // 0: it does not sleep, but gives up
};

// Tells the processor that this is a loop which waits.
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

// The core that this thread runs on; -1 where that is not known.
int current_core();

// A rank that has gone to another core stays there for so long at least: moving costs some ten microseconds, and systems undo it with every wake-up.
constexpr std::chrono::milliseconds kLeastStay{1};

// Goes to another core than this one, where the system allows it; may stay.
void leave_core(int core);

// Goes to that one of the cores that this thread may use in which `part` of so many equal `parts` of them begins, and returns it; -1 where the
// system does not tell.
int go_to_core(int part, int parts);

// Has the system give this thread its time in shorter turns from now on, and therefore sooner when it wakes, where the system has such a thing
// and the thread is one like any other. Returns how long they were, for `take_turns_of`; 0 where nothing has changed.
std::uint64_t take_short_turns();

// Undoes that.
void take_turns_of(std::uint64_t nanos);

// Who may sleep on a word: threads of this process, or of others that share its memory.
enum class Reach { kProcess, kHost };

// Sleeps while `word` is `seen`, until unpark() or the time is over; may also return early.
void park(std::atomic<std::uint32_t>& word, std::uint32_t seen, int millis, Reach reach = Reach::kProcess);

// Wakes all who sleep on the word.
void unpark(std::atomic<std::uint32_t>& word, Reach reach = Reach::kProcess);

}  // namespace coll

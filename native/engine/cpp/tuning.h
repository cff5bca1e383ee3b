#pragma once

#include <chrono>
#include <cstddef>

#include "cache_line.h"

// The numbers that were chosen by measuring: what each decides, and what was found. All ranks of a group must have the same ones.
//
// Elsewhere are layouts and protocol limits (beside what they describe), the times of the failure detector (processes/) and the counterparts of the
// other engines: packages/core/src/threads and packages/core/src/wasm (sizes of slices, blocks and small inputs), packages/processes/src/call-timing.ts
// (when the calling thread hands a call to the progress thread) and native/engine/src/turns.ts (polls of the event loop).
namespace coll::tuning {

using namespace std::chrono_literals;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

// How often a thread polls before it yields, how often it does both, and how long it sleeps then; 0 ms: it gives up instead.
struct Patience {
  int spins = 0;
  int rounds = 0;
  int sleep_millis = 0;
};

// --- Waiting for words of other ranks (threads/waiter.cc) ---

// Some hundred microseconds in all: being woken takes thirty.
constexpr Patience kOwnCore{300, 60, 0};
// A rank that spins on a core that another rank needs only delays it.
constexpr Patience kSharedCore{1, 300, 0};
// Some ten microseconds: short waits end within them, and they are nothing beside long ones.
constexpr Patience kElsewhere{200, 1, 0};
// For waits that an event loop should not notice.
constexpr int kBriefRounds = 12;
// Sleep of later waits, after brief ones were in vain.
constexpr int kPatientSleepMillis = 2;
// After a yield to a program that only computes, a thread is back after milliseconds. A rank at work on another core arrives sooner, even if it was
// asleep.
constexpr int kRoundsWithoutYield = 20;
// Another rank on the same core waits too, or is soon done. A longer yield went to another program: a thread that goes on yielding is scheduled behind
// that again and again, one that sleeps is woken ahead of it.
constexpr std::chrono::microseconds kLongYield = 200us;
// A rank that has moved to another core stays there at least this long: moving costs some ten microseconds, and systems undo it with every wake-up.
constexpr std::chrono::milliseconds kLeastStay = 1ms;
// Sleep of a thread of one process between two checks of the group.
constexpr int kThreadSleepMillis = 25;
// Sleep of a rank of a group of processes: nobody wakes it when the group fails, or when a rank dies.
constexpr int kProcessSleepMillis = 5;
// Callers of shared memory with less patience do not sleep, and read the clock more often.
constexpr std::chrono::milliseconds kShortPatience = 1ms;
// Spins before yielding to a rank that is about to leave a meeting.
constexpr int kLeavingSpins = 1000;

// --- The thread pool (threads/thread_pool.cc, controller.cc) ---

// Polls of a helper for the next task: back-to-back calls find it awake.
constexpr int kPoolSpins = 2000;
constexpr int kPoolSleepMillis = 1000;
// Less is done sooner than a second thread takes notice.
constexpr std::size_t kTaskBytes = 128 * kKiB;
constexpr std::size_t kTaskUnitBytes = 128 * kKiB;

// --- Small inputs, which travel with announcements (threads/board.h, shared/rank_state.h) ---

// Larger inputs are sooner worked on in place, though that takes both halves of a meeting.
constexpr std::size_t kSmallBytes = 16 * kCacheLine;
// Of all ranks together. Each of them works off the whole collective by itself, which is no gain with many ranks.
constexpr std::size_t kSmallBytesOfAll = 8 * kSmallBytes;
// Inputs up to this size are small with any number of ranks.
constexpr std::size_t kAlwaysSmallBytes = kCacheLine / 2;
// Prefetched from each of the others: more lines than processors request at once do not arrive sooner.
constexpr std::size_t kFetchedBytes = 8 * kCacheLine;
// Results of others whose lines a rank claims ahead: more keeps the loop from its first lines for longer than it saves.
constexpr std::size_t kClaimedBytes = 2048;

// --- Dividing work (threads/work_slices.cc, execute.cc) ---

// All ranks' inputs of a batch, which takes about a millisecond: an event loop may be kept waiting that long.
constexpr std::size_t kBatchBytes = 32 * kMiB;
// Of all ranks' inputs. Less stays in the caches of the ranks that had it before; taking units over costs more than it saves.
constexpr std::size_t kLargeBytes = 16 * kMiB;
// Of each rank's input: a unit is worth being fetched ahead.
constexpr std::size_t kUnitBytes = 128 * kKiB;
// Cache of a core, as servers have them.
constexpr std::size_t kCoreCacheBytes = 2 * kMiB;
// Larger results are not found in a cache again, and are written past the caches.
constexpr std::size_t kStreamedBytes = 8 * kMiB;
// Registers of all ranks together, which fit into the second-level cache; a block of them is worth its calls.
constexpr std::size_t kRegisterBytes = 256 * kKiB;
constexpr std::size_t kLeastRegisterLength = 256;
constexpr std::size_t kMostRegisterLength = 4096;

// --- Kernels ---

// Output from which whole cache lines pay for a call that goes up to the first one: memory often begins in the middle of a line. Less is worked on
// alike wherever it is. Ranks that each combine the same few inputs then get the same bits, of NaN as well: which of two NaNs stays is up to the
// instructions, and they differ between the middle of a loop and its end.
constexpr std::size_t kLeastAligned = 2048;
// Output from which a long loop is worth its calls for what is before and after it.
constexpr std::size_t kLeastLong = 16 * kKiB;
// Less output is found in caches of this core as often as not, where prefetching costs more than it saves.
constexpr std::size_t kLeastAhead = 128 * kKiB;
// How far long loops prefetch. Processors do so by themselves, but only for a few streams at once, not past the end of a page, and too late for lines
// that another core has just written.
constexpr std::size_t kAheadBytes = 2048;
// All blocks of a fold together, and one of each input, fit into a first-level cache.
constexpr std::size_t kFoldBlockBytes = 4096;
// From here on the C library copies with `rep movsb`. AMD's Zen 3 and 4 take twenty times as long for that if the target lies less than a line ahead of
// the source, seen within their pages: 64 KiB in 36 to 47 microseconds, in 2 by lines, which elsewhere cost a fifth more.
constexpr std::size_t kLeastMovsb = 2048;

// --- Shared memory (shared/) ---

// Blocks of all stages of the pipeline stay in a second-level cache.
constexpr std::size_t kSlotBlockBytes = 256 * kKiB;
// Blocks of all ranks together, if all ranks fill and collect blocks and some share a cache.
constexpr std::size_t kSlotBlockBytesOfAll = 512 * kKiB;
// Smaller blocks are not worth their phases.
constexpr std::size_t kLeastSlotBlockBytes = 64 * kKiB;
// Buffers of all ranks that stay in the caches anyway need no small blocks.
constexpr std::size_t kCachedBytes = 4 * kMiB;
// Buffers of all ranks from here on are found in no cache.
constexpr std::size_t kUncachedBytes = 64 * kMiB;
// Copies from memory or to it: processors prefetch some lines in each of the places that a loop goes through at a time.
constexpr std::size_t kCopyStreams = 4;
constexpr std::size_t kCopyStep = 256;
// Time for which an allocation collapses pages, enough for 256 MiB if pages are at hand: filling small pages takes four times as long as collapsing and
// filling huge ones. If the system first has to find memory, the same takes a second.
constexpr std::chrono::milliseconds kLongestCollapse = 25ms;
// Huge pages collapsed in one call, since each call first waits for all processors; but no longer than the end of a group may take. Also the most that
// is given back at a time while others wait.
constexpr std::size_t kHugePagesAtOnce = 8;
// How long memory is kept: longer than most training steps, which take the same memory again.
constexpr std::chrono::seconds kKeep = 10s;

// --- Messages (messages/) ---

// A message is on its way for some microseconds, and being woken takes thirty. On a busy machine, a thread that yields is back after milliseconds; on a
// shared core, one that only polls delays the others.
constexpr std::chrono::microseconds kSpinning = 100us;
constexpr std::chrono::microseconds kYielding = 300us;
// Systems put processes that often wait for each other on one core. A rank that has waited longer than messages take moves to another.
constexpr std::chrono::microseconds kLeavingCore = 15us;
// Sleep if nothing wakes for memory.
constexpr int kNapMillis = 1;
// What a rank moves before those that share its core run: more would leave the caches before they get to it.
constexpr std::size_t kBytesBetweenYields = 512 * kKiB;
// Per peer: the inbox, and what is sent before receiving continues, so that what is being combined stays in the cache.
constexpr std::size_t kInboxBytes = 256 * kKiB;
constexpr std::size_t kBurstBytes = 256 * kKiB;
// The same for ranks that share cores, which share their caches too. A call takes a little less than a packet of the loopback device: while a whole one
// waits, BBR takes a stream to be as slow as a peer that has no core.
constexpr std::size_t kCrowdedInboxBytes = 128 * kKiB;
constexpr std::size_t kCrowdedBurstBytes = 128 * kKiB;
constexpr std::size_t kCrowdedCallBytes = 65408;
// Received at once, before sending continues.
constexpr std::size_t kReceivedBytes = 512 * kKiB;
// Of a message that ends sooner, the following ones are received with it.
constexpr std::size_t kShortBytes = 16 * kKiB;
// Less of a message waits for more of it, since every call has its price.
constexpr std::size_t kLeastReadyBytes = 16 * kKiB;
// Work without messages that is done at a time, which messages should not wait for.
constexpr std::size_t kLocalBytes = 256 * kKiB;
// Elements of half types that are combined at a time: with two operands all of it stays in the first-level cache.
constexpr std::size_t kWidenedLength = 2048;
// Small all-reduces. With more ranks the messages take longer than the rounds of a tree.
constexpr int kMostRanksOfSmall = 16;
// What a rank receives: with more, sending each byte to everybody takes longer than a second round.
constexpr std::size_t kMostReceivedBytes = 32 * kKiB;
// What a rank contributes if messages have to be few.
constexpr std::size_t kMostDoubledBytes = 32 * kKiB;

// --- TCP (messages/tcp_channel.cc) ---

// A header and a small message. Joining them takes less time than the system takes for a list of parts.
constexpr std::size_t kJoinedBytes = 512;
// Send buffer within a host: more would push what is being combined out of the second-level cache.
constexpr int kSendBytesWithinHost = 128 * 1024;
// Of that, as much may wait to leave. BBR measures how fast a stream can go while data waits and paces it accordingly, which takes up to 1.7 times as long
// within a host; it does not do so if a stream leaves as fast as it is written.
constexpr int kWaitingBytesWithinHost = 16 * 1024;

}  // namespace coll::tuning

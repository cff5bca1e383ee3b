#pragma once

#include <chrono>
#include <cstddef>

#include "cache_line.h"

// The numbers that were chosen by measuring: what each decides, and what was found. All ranks of a
// group must use the same ones.
//
// These are elsewhere: the sizes that depend most on the machine (thresholds.h), layouts and protocol limits (next to what they describe), the times of the
// failure detector (processes/) and the counterparts of the other engines:
// packages/core/src/threads and packages/core/src/wasm (sizes of slices, blocks and small inputs),
// packages/processes/src/call-timing.ts (when the calling thread hands a call to the progress
// thread) and native/engine/src/turns.ts (polls of the event loop).
namespace coll::tuning {

using namespace std::chrono_literals;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

// How often a thread polls before it yields, how often it does both, and how long it sleeps
// afterwards; 0 ms: it gives up instead.
struct Patience {
  int spins = 0;
  int rounds = 0;
  int sleep_millis = 0;
};

// --- Waiting for words of other ranks (threads/waiter.cc) ---

// Some hundred microseconds in all: waking a thread takes thirty.
constexpr Patience kOwnCore{300, 60, 0};
// A rank that spins on a core that another rank needs only delays that rank.
constexpr Patience kSharedCore{1, 300, 0};
// While no rank needs this core, how often a rank polls for those on other cores before it yields,
// and for how many yields: some ten microseconds in all, in which the other cores catch up.
constexpr int kElsewhereSpins = 200;
constexpr int kPollingTurns = 4;
// For waits that an event loop should not notice.
constexpr int kBriefRounds = 12;
// Sleep of later waits, after brief ones were in vain: two milliseconds, or half a millisecond per
// rank if ranks share cores. All ranks must be inside their calls at once, and every rank is outside
// for a turn of its event loop, or for the pause of turns.ts, between two waits. With two
// milliseconds, 128 threads on two cores needed 10 to 40 waits for a meeting, and sometimes a minute
// and a half.
constexpr int kLeastPatientMillis = 2;
constexpr int kRanksPerPatientMilli = 2;
// A yield to a program that only computes takes milliseconds. A rank at work on another core
// arrives sooner, even if it was asleep.
constexpr int kRoundsWithoutYield = 20;
// Other ranks on the same core wait too, or are done soon, so a longer yield went to another
// program. A thread that continues to yield is scheduled behind that program again and again; one
// that sleeps is woken ahead of it.
constexpr std::chrono::microseconds kLongYield = 200us;
// The same per rank, in large groups that share cores: a yield lets all other ranks on the core poll
// once, and with 32 of them takes more than a hundred microseconds.
constexpr std::chrono::microseconds kLongYieldPerRank = 12us;
// A rank that has moved to another core stays there at least this long: moving costs some ten
// microseconds, and systems may undo it with every wake-up.
constexpr std::chrono::milliseconds kLeastStay = 1ms;
// A rank that finds another one on its core so often, each time so soon after it has moved, has
// found that there are too few cores.
constexpr int kMostMeetings = 4;
constexpr std::chrono::milliseconds kSoonAgain = 10ms;
// Sleep of a thread of one process between two checks of the group.
constexpr int kThreadSleepMillis = 25;
// Sleep of a rank of a group of processes: nobody wakes it when the group fails, or when a rank dies.
constexpr int kProcessSleepMillis = 5;
// Callers of shared memory with less patience do not sleep, and read the clock more often.
constexpr std::chrono::milliseconds kShortPatience = 1ms;
// Spins before yielding to a rank that is about to leave a meeting.
constexpr int kLeavingSpins = 1000;

// --- Helper threads (threads/crew.cc, helper_thread.cc, helper_limit.cc, controller.cc) ---

// Polls of a helper for the next task: back-to-back calls find it awake.
constexpr int kHelperSpins = 2000;
constexpr int kHelperSleepMillis = 1'000'000;
// The inputs of all ranks in a part of a task; each thread executes at least one.
constexpr std::size_t kTaskUnitBytes = 128 * kKiB;
// The bytes of a task for which it wakes a sleeping helper, if it begins so soon after the task
// before: the next one finds the helper awake, which polls for longer. A helper that sleeps again
// before each task costs nine microseconds every time: 512 KiB then took 17 instead of 8.
constexpr std::size_t kHotBytesPerHelper = 2 * kTaskUnitBytes;
constexpr std::chrono::microseconds kCloselyFollowing = 40us;
// A unit that took this long, and so many times as long as another one, was suspended: systems
// suspend threads for a millisecond or more. A unit takes 5 to 30 microseconds.
constexpr std::chrono::microseconds kLongUnit = 100us;
constexpr int kLongUnits = 8;
// How long a crew does not try to get more helpers, or a rank does not try to have a core of its
// own, after it has found that there are too few cores: such a try takes some milliseconds.
constexpr std::chrono::milliseconds kLeastPause = 100ms;
constexpr std::chrono::milliseconds kLongestPause = 10s;

// --- Small inputs, which travel with announcements (threads/board.h, shared/rank_state.h) ---

// The room in announcements. Results of smaller inputs stay below kLeastAligned, which keeps the
// bits of NaNs the same on all ranks.
constexpr std::size_t kMostSmallBytes = 31 * kCacheLine;
// Inputs up to this size are small with any number of ranks.
constexpr std::size_t kAlwaysSmallBytes = kCacheLine / 2;
// The most bytes prefetched of each other rank's input: more lines than a processor requests at
// once do not arrive sooner.
constexpr std::size_t kFetchedBytes = 8 * kCacheLine;
// The most bytes claimed of other ranks' results: claiming more delays the loop by more than it
// saves.
constexpr std::size_t kClaimedBytes = 2048;

// --- Dividing work (threads/work_slices.cc, execute.cc) ---

// The inputs of all ranks in a batch. A batch takes about a millisecond, which an event loop can
// wait.
constexpr std::size_t kBatchBytes = 32 * kMiB;
// The inputs of all ranks. Smaller ones stay in the caches of the ranks that used them before, and
// taking over units costs more than it saves.
constexpr std::size_t kLargeBytes = 16 * kMiB;
// The input of each rank. A unit this large is worth prefetching.
constexpr std::size_t kUnitBytes = 128 * kKiB;
// The cache of a core, as in servers.
constexpr std::size_t kCoreCacheBytes = 2 * kMiB;
// The registers of all ranks together: they fit into the second-level cache, and a block of them is
// worth its calls.
constexpr std::size_t kRegisterBytes = 256 * kKiB;
constexpr std::size_t kLeastRegisterLength = 256;
constexpr std::size_t kMostRegisterLength = 4096;

// --- Kernels ---

// Outputs of at least this size are processed in whole cache lines, with a separate call up to the
// first one, since memory often begins in the middle of a line. Smaller ones are processed in the
// same way at any address. Then ranks that each combine the same few inputs get the same bits, also
// for NaN: which of two NaNs remains depends on the instructions, which differ between the middle
// and the end of a loop.
constexpr std::size_t kLeastAligned = 2048;
// Outputs of at least this size are worth a long loop, with its calls for the elements before and
// after it.
constexpr std::size_t kLeastLong = 16 * kKiB;
// Smaller outputs are often in caches of this core, where prefetching costs more than it saves.
constexpr std::size_t kLeastAhead = 128 * kKiB;
// How far ahead long loops prefetch. Processors do this by themselves, but only for a few streams
// at once, not past the end of a page, and too late for lines that another core has just written.
constexpr std::size_t kAheadBytes = 2048;
// All blocks of a fold together, and one of each input, fit into a first-level cache.
constexpr std::size_t kFoldBlockBytes = 4096;
// From this size on, the C library copies with `rep movsb`. On AMD's Zen 3 and 4 this takes twenty
// times as long if the target is less than a line ahead of the source, modulo the page size: 64 KiB
// take 36 to 47 microseconds, but 2 if copied line by line, which elsewhere takes a fifth longer.
constexpr std::size_t kLeastMovsb = 2048;

// --- Shared memory (shared/) ---

// Buffers of all ranks, together up to this size, stay in the caches and need no small blocks.
constexpr std::size_t kCachedBytes = 4 * kMiB;
// Buffers of all ranks, together from this size on, are in no cache.
constexpr std::size_t kUncachedBytes = 64 * kMiB;
// The number of places from which Intel processors copy memory outside the caches in turn: they
// prefetch some lines at each.
constexpr std::size_t kCopyStreams = 4;
constexpr std::size_t kCopyStep = 256;
// Time for which an allocation collapses pages, enough for 256 MiB if pages are at hand: filling
// small pages takes four times as long as collapsing and filling huge ones. If the system first has
// to find memory, the same takes a second.
constexpr std::chrono::milliseconds kLongestCollapse = 25ms;
// Huge pages collapsed in one call, since each call first waits for all processors. More would take
// longer than the end of a group may take. Also the most that is given back at a time while others
// wait.
constexpr std::size_t kHugePagesAtOnce = 8;
// How long memory is kept: longer than most training steps, which take the same memory again.
constexpr std::chrono::seconds kKeep = 10s;

// --- Messages (messages/) ---

// A message takes some microseconds, and waking a thread takes thirty. On a busy machine, a yield
// takes milliseconds; on a shared core, a rank that only polls delays the others.
constexpr std::chrono::microseconds kSpinning = 100us;
constexpr std::chrono::microseconds kYielding = 300us;
// Systems put processes that often wait for each other on one core. A rank that has waited longer
// than messages take moves to another core.
constexpr std::chrono::microseconds kLeavingCore = 15us;
// Sleep if nothing can wake a rank that waits for memory.
constexpr int kNapMillis = 1;
// The bytes that a rank moves before it yields to ranks that share its core: more would leave the
// caches before they are used.
constexpr std::size_t kBytesBetweenYields = 512 * kKiB;
// Per peer: the size of the inbox, and the bytes sent before receiving continues. What is being
// combined stays in the cache.
constexpr std::size_t kInboxBytes = 256 * kKiB;
constexpr std::size_t kBurstBytes = 256 * kKiB;
// The same for ranks that share cores, and therefore caches. A call sends a little less than a
// packet of the loopback device: while a whole packet waits, BBR takes the stream to be as slow as
// a peer that has no core.
constexpr std::size_t kCrowdedInboxBytes = 128 * kKiB;
constexpr std::size_t kCrowdedBurstBytes = 128 * kKiB;
constexpr std::size_t kCrowdedCallBytes = 65408;
// The most bytes received before sending continues.
constexpr std::size_t kReceivedBytes = 512 * kKiB;
// After a message that is shorter, the following ones are received together with it.
constexpr std::size_t kShortBytes = 16 * kKiB;
// A smaller part of a message waits for more of it, since every system call has a cost.
constexpr std::size_t kLeastReadyBytes = 16 * kKiB;
// The work without messages that is done at a time, so that messages need not wait long.
constexpr std::size_t kLocalBytes = 256 * kKiB;
// Elements of half types combined at a time: with two operands, all of it stays in the first-level
// cache.
constexpr std::size_t kWidenedLength = 2048;
// In groups of up to this many ranks, each rank announces a collective to all others, which takes
// the time of one message. In larger groups, it announces along the schedule (agreement.h).
constexpr int kMostRanksThatAnnounce = 4;
// For small all-reduces. With more ranks, the messages take longer than the rounds of a tree.
constexpr int kMostRanksOfSmall = 16;
// The most bytes that a rank receives: with more, sending each byte to every rank takes longer than
// a second round.
constexpr std::size_t kMostReceivedBytes = 32 * kKiB;
// The most bytes that a rank contributes if there must be few messages.
constexpr std::size_t kMostDoubledBytes = 32 * kKiB;

// --- TCP (messages/tcp_channel.cc) ---

// A header and a small message. Joining them takes less time than the system takes for a list of
// parts.
constexpr std::size_t kJoinedBytes = 512;
// Send buffer within a host: more would push what is being combined out of the second-level cache.
constexpr int kSendBytesWithinHost = 128 * 1024;
// The most of these bytes that may wait to be sent. BBR measures the speed of a stream while data
// waits and paces the stream accordingly, which takes up to 1.7 times as long within a host; it
// does not do so if a stream leaves as fast as it is written.
constexpr int kWaitingBytesWithinHost = 16 * 1024;

}  // namespace coll::tuning

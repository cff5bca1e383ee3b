#pragma once

#include <chrono>
#include <cstddef>

#include "cache_line.h"

// The numbers that were chosen by measurement: what each decides, and what was measured. All ranks
// of a group must use the same ones.
//
// Others are elsewhere: the sizes that depend most on the machine (thresholds.h), layouts and
// protocol limits (next to what they describe), the times of the failure detector (processes/) and
// the counterparts of the other engines: packages/core/src/threads and packages/core/src/wasm
// (sizes of slices, blocks and small inputs), packages/processes/src/call-timing.ts (when the
// calling thread hands a call to the progress thread) and native/engine/src/turns.ts (polls of the
// event loop).
namespace coll::tuning {

using namespace std::chrono_literals;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

// How a thread waits: the number of polls before it yields, the number of rounds of polls and a
// yield, and the length of each sleep after them in milliseconds. 0 ms: it gives up instead of
// sleeping.
struct Patience {
  int spins = 0;
  int rounds = 0;
  int sleep_millis = 0;
};

// --- Waiting for words of other ranks (threads/waiter.cc) ---

// The wait of a rank with a core of its own: some hundred microseconds, because waking a thread
// takes thirty.
constexpr Patience kOwnCore{300, 60, 0};
// The wait of a rank that shares its core: spinning would delay the other ranks of the core.
constexpr Patience kSharedCore{1, 300, 0};
// The number of polls before a yield, and of yields, while no other rank needs this core: some ten
// microseconds in which ranks on other cores catch up.
constexpr int kElsewhereSpins = 200;
constexpr int kPollingTurns = 4;
// The rounds of a brief wait, which an event loop does not notice.
constexpr int kBriefRounds = 12;
// The sleep of patient waits, which follow brief ones: two milliseconds, or half a millisecond per
// rank if ranks share cores. A meeting needs all ranks inside their calls at the same time, but
// between two waits every rank is outside for a turn of its event loop or the pause of turns.ts.
// With two milliseconds, 128 threads on two cores needed 10 to 40 waits for a meeting, and in some
// cases a minute and a half.
constexpr int kLeastPatientMillis = 2;
constexpr int kRanksPerPatientMilli = 2;
// The rounds without a yield: a yield to a program that only computes takes milliseconds. A rank on
// another core arrives sooner, even if it was asleep.
constexpr int kRoundsWithoutYield = 20;
// A yield that takes longer went to another program, since other ranks on the core wait too, or are
// done soon. A thread that continues to yield is scheduled behind that program again and again; a
// thread that sleeps is woken ahead of it.
constexpr std::chrono::microseconds kLongYield = 200us;
// The limit of a yield per rank, in large groups that share cores: a yield lets all other ranks of
// the core poll once, and takes more than a hundred microseconds with 32 of them.
constexpr std::chrono::microseconds kLongYieldPerRank = 12us;
// The least time that a rank stays on a core it has moved to: moving costs some ten microseconds,
// and systems may undo it with every wake-up.
constexpr std::chrono::milliseconds kLeastStay = 1ms;
// The number of times that a rank must find another rank on its core, each time soon after it has
// moved, to conclude that there are too few cores.
constexpr int kMostMeetings = 4;
constexpr std::chrono::milliseconds kSoonAgain = 10ms;
// The sleep of a rank in a thread between two checks of the group.
constexpr int kThreadSleepMillis = 25;
// The sleep of a rank in a process. It is short, because nobody wakes the rank when the group fails
// or a rank dies.
constexpr int kProcessSleepMillis = 5;
// Calls over shared memory with less patience do not sleep, and read the clock more often.
constexpr std::chrono::milliseconds kShortPatience = 1ms;
// Spins before yielding to a rank that is about to leave a meeting.
constexpr int kLeavingSpins = 1000;

// --- Helper threads (threads/crew.cc, helper_thread.cc, helper_limit.cc, controller.cc) ---

// The number of polls of a helper for the next task. Back-to-back calls find it awake.
constexpr int kHelperSpins = 2000;
constexpr int kHelperSleepMillis = 1'000'000;
// The size of all ranks' inputs in a unit of a task. Each thread executes at least one unit.
constexpr std::size_t kTaskUnitBytes = 128 * kKiB;
// The number of bytes for which a task wakes one sleeping helper if it closely follows another
// task: the next task then finds the helper awake. A helper that sleeps again before each task
// costs nine microseconds every time: 512 KiB then took 17 instead of 8.
constexpr std::size_t kHotBytesPerHelper = 2 * kTaskUnitBytes;
constexpr std::chrono::microseconds kCloselyFollowing = 40us;
// A unit that took this long, and many times as long as another unit, was suspended: systems
// suspend threads for a millisecond or more. A unit takes 5 to 30 microseconds.
constexpr std::chrono::microseconds kLongUnit = 100us;
constexpr int kLongUnits = 8;
// The time after which a crew tries again to get more helpers, or a rank to have a core of its own,
// if there were too few cores: such a try takes some milliseconds.
constexpr std::chrono::milliseconds kLeastPause = 100ms;
constexpr std::chrono::milliseconds kLongestPause = 10s;

// --- Small inputs, which travel with announcements (threads/board.h, shared/rank_state.h) ---

// The size of the largest input in an announcement. The results of such inputs stay below
// kLeastAligned, which keeps the bits of NaNs the same on all ranks.
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

// The size of all ranks' inputs in a batch. A batch takes about a millisecond, for which an event
// loop can wait.
constexpr std::size_t kBatchBytes = 32 * kMiB;
// The size of all ranks' inputs from which ranks take units from each other. Smaller inputs stay in
// the caches of the ranks that used them before, and taking units costs more than it saves.
constexpr std::size_t kLargeBytes = 16 * kMiB;
// The input of each rank in a unit. A unit of this size is worth prefetching.
constexpr std::size_t kUnitBytes = 128 * kKiB;
// The size of a core's cache in servers.
constexpr std::size_t kCoreCacheBytes = 2 * kMiB;
// The size of the registers of all ranks together: they fit into the second-level cache, and a
// block of them outweighs its calls.
constexpr std::size_t kRegisterBytes = 256 * kKiB;
constexpr std::size_t kLeastRegisterLength = 256;
constexpr std::size_t kMostRegisterLength = 4096;

// --- Kernels ---

// Outputs of at least this size are processed in whole cache lines, with a separate call up to the
// first one, since memory often begins in the middle of a line. Smaller outputs are processed in
// the same way at any address. So ranks that each combine the same few inputs get the same bits,
// even for NaN: which of two NaNs a loop returns differs between its middle and its end.
constexpr std::size_t kLeastAligned = 2048;
// Outputs of at least this size are worth a long loop, with its calls for the elements before and
// after it.
constexpr std::size_t kLeastLong = 16 * kKiB;
// Outputs of at least this size are prefetched. Smaller ones are often in a cache of this core,
// where prefetching costs more than it saves.
constexpr std::size_t kLeastAhead = 128 * kKiB;
// How far ahead long loops prefetch. Processors do this by themselves, but only for a few streams
// at once, not past the end of a page, and too late for lines that another core has just written.
constexpr std::size_t kAheadBytes = 2048;
// The size of a block of a fold: all its blocks, and one of each input, fit into a first-level
// cache.
constexpr std::size_t kFoldBlockBytes = 4096;
// The size from which the C library copies with `rep movsb`. On AMD's Zen 3 and 4 this takes twenty
// times as long if the target is less than a cache line ahead of the source, modulo the page size:
// 64 KiB took 36 to 47 microseconds, and 2 when copied line by line. At other distances, copying by
// lines takes a fifth longer.
constexpr std::size_t kLeastMovsb = 2048;

// --- Shared memory (shared/) ---

// Buffers of all ranks, together up to this size, stay in the caches and need no small blocks.
constexpr std::size_t kCachedBytes = 4 * kMiB;
// Buffers of all ranks, together from this size on, are in no cache.
constexpr std::size_t kUncachedBytes = 64 * kMiB;
// The number of streams in which memory outside the caches is copied: Intel processors prefetch
// some lines at each of these positions.
constexpr std::size_t kCopyStreams = 4;
constexpr std::size_t kCopyStep = 256;
// The most time that an allocation spends on collapsing pages, enough for 256 MiB if the system has
// huge pages ready. Filling small pages takes four times as long as collapsing and filling huge
// ones. If the system first has to find memory, collapsing 256 MiB takes a second.
constexpr std::chrono::milliseconds kLongestCollapse = 25ms;
// The number of huge pages that are collapsed in one call, since each call first waits for all
// processors. The call must not take longer than the end of a group may take. Also the most pages
// that are returned at a time while other threads wait.
constexpr std::size_t kHugePagesAtOnce = 8;
// The time for which returned memory is kept. Most training steps are shorter and take the same
// memory again.
constexpr std::chrono::seconds kKeep = 10s;

// --- Messages (messages/) ---

// The times for which a rank polls, then polls and yields, before it sleeps: a message takes some
// microseconds, and waking a thread takes thirty. On a busy machine, a yield takes milliseconds; on
// a shared core, polling delays the other ranks.
constexpr std::chrono::microseconds kSpinning = 100us;
constexpr std::chrono::microseconds kYielding = 300us;
// The wait after which a rank moves to another core: longer than messages take. Systems put
// processes that often wait for each other on one core.
constexpr std::chrono::microseconds kLeavingCore = 15us;
// The sleep of a rank that waits for memory, which nothing wakes.
constexpr int kNapMillis = 1;
// The number of bytes that a rank moves before it yields to ranks that share its core. More data
// would leave the caches before it is used.
constexpr std::size_t kBytesBetweenYields = 512 * kKiB;
// Per peer: the size of the inbox, and the number of bytes sent before receiving continues. The
// data that is being combined stays in the cache.
constexpr std::size_t kInboxBytes = 256 * kKiB;
constexpr std::size_t kBurstBytes = 256 * kKiB;
// The sizes for ranks that share cores, and therefore caches. A call sends a little less than a
// packet of the loopback device: while a whole packet waits, BBR estimates the stream as slow as a
// peer that has no core.
constexpr std::size_t kCrowdedInboxBytes = 128 * kKiB;
constexpr std::size_t kCrowdedBurstBytes = 128 * kKiB;
constexpr std::size_t kCrowdedCallBytes = 65408;
// The most bytes received before sending continues.
constexpr std::size_t kReceivedBytes = 512 * kKiB;
// The following messages are received together with a message that is shorter.
constexpr std::size_t kShortBytes = 16 * kKiB;
// A part of a message that is smaller waits for the rest, since every system call has a cost.
constexpr std::size_t kLeastReadyBytes = 16 * kKiB;
// The amount of work without messages that is done at a time, so that messages need not wait long.
constexpr std::size_t kLocalBytes = 256 * kKiB;
// The number of elements of half types that are combined at a time: two operands and the result
// stay in the first-level cache.
constexpr std::size_t kWidenedLength = 2048;
// In groups of up to this many ranks, each rank announces a collective to all others, which takes
// as long as one message. In larger groups, announcements follow the schedule (agreement.h).
constexpr int kMostRanksThatAnnounce = 4;
// The most ranks of a small all-reduce. With more ranks, the messages take longer than the rounds
// of a tree.
constexpr int kMostRanksOfSmall = 16;
// The most bytes that a rank receives in a small all-reduce. With more bytes, sending each of them
// to every rank takes longer than a second round.
constexpr std::size_t kMostReceivedBytes = 32 * kKiB;
// The most bytes that a rank contributes to a small all-reduce by recursive doubling.
constexpr std::size_t kMostDoubledBytes = 32 * kKiB;

// --- TCP (messages/tcp_channel.cc) ---

// The size of a header and a small message, which are joined: this takes less time than a list of
// parts takes the system.
constexpr std::size_t kJoinedBytes = 512;
// The send buffer within a host. A larger one would push the data that is being combined out of the
// second-level cache.
constexpr int kSendBytesWithinHost = 128 * 1024;
// The most bytes that may wait to be sent within a host. While data waits, BBR measures the speed
// of the stream and paces it, which takes up to 1.7 times as long within a host. It does not pace a
// stream that leaves as fast as it is written.
constexpr int kWaitingBytesWithinHost = 16 * 1024;

}  // namespace coll::tuning

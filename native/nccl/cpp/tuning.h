#pragma once

#include <chrono>
#include <cstddef>

// Numbers that were chosen for speed or as time limits. Numbers that others see, such as those of
// dtypes, are next to their use.
namespace coll::tuning {

using namespace std::chrono_literals;

// --- Waiting for NCCL and for devices ---

// The number of polls of the completion thread, with a yield after each, before it sleeps. Each
// sleep is twice as long as the one before.
constexpr int kCompletionPolls = 200;
constexpr std::chrono::microseconds kShortestCompletionSleep = 20us;
constexpr std::chrono::microseconds kLongestCompletionSleep = 500us;
// The number of polls, in the same way, for a communicator that is being made or is executing a
// call.
constexpr int kCommunicatorPolls = 200;
constexpr std::chrono::microseconds kShortestCommunicatorSleep = 10us;
constexpr std::chrono::microseconds kLongestCommunicatorSleep = 500us;
// The interval between two polls of launches that wait for other ranks, on the submission thread.
constexpr std::chrono::microseconds kBegunInterval = 500us;
// The interval between two checks of deadlines and communicators, on the watching thread.
constexpr std::chrono::milliseconds kWatchInterval = 20ms;
// The interval between two checks whether a chunk of pinned memory is still wanted.
constexpr std::chrono::milliseconds kChunkInterval = 10ms;

// --- Patience at the end ---

// The number of polls for a launch to return before its communicators are aborted. A launch that is
// not stuck returns in this time, and finds its communicator alive; a stuck one returns because of
// the abort.
constexpr int kLaunchPolls = 100;
constexpr std::chrono::milliseconds kLaunchInterval = 2ms;
// The interval between two checks whether all aborts have returned, and whether all threads are
// idle.
constexpr std::chrono::milliseconds kEndingInterval = 1ms;
// The time for threads to leave their calls at the exit of the process.
constexpr std::chrono::milliseconds kLongestExit = 500ms;
// The time for the aborts of its communicators at the end of a worker thread.
constexpr std::chrono::seconds kLongestAbort = 2s;

// --- Kernels ---

constexpr unsigned kThreads = 256;
constexpr std::size_t kBlocksPerProcessor = 8;
// The number of bytes that one block copies at a time. Large pieces are divided, so that all blocks
// have work.
constexpr std::size_t kTileStep = 4096;
constexpr std::size_t kLeastTileBytes = 16u << 10;
constexpr std::size_t kMostTileBytes = 64u << 10;

// --- Pinned memory ---

// Ordinary memory moves through chunks, of which there are two sizes.
constexpr std::size_t kChunkBytes = 8u << 20;
constexpr std::size_t kSmallChunkBytes = 64u << 10;
constexpr int kMostChunks = 8;
constexpr int kMostSmallChunks = 64;

}  // namespace coll::tuning

#pragma once

#include <chrono>
#include <cstddef>

// The numbers that are chosen for speed or patience, and what each decides. Numbers that others
// see, such as those of dtypes, are next to their use.
namespace coll::tuning {

using namespace std::chrono_literals;

// --- Waiting for NCCL and for devices ---

// Polls of the completion thread, with a yield after each, before it sleeps; each sleep is twice as
// long as the one before.
constexpr int kCompletionPolls = 200;
constexpr std::chrono::microseconds kShortestCompletionSleep = 20us;
constexpr std::chrono::microseconds kLongestCompletionSleep = 500us;
// The same for a communicator that is being made or is executing a call.
constexpr int kCommunicatorPolls = 200;
constexpr std::chrono::microseconds kShortestCommunicatorSleep = 10us;
constexpr std::chrono::microseconds kLongestCommunicatorSleep = 500us;
// Between two polls of launches that wait for other ranks, on the submission thread.
constexpr std::chrono::microseconds kBegunInterval = 500us;
// Between two checks of deadlines and communicators, on the watching thread.
constexpr std::chrono::milliseconds kWatchInterval = 20ms;
// Between two checks whether a chunk of pinned memory is still wanted.
constexpr std::chrono::milliseconds kChunkInterval = 10ms;

// --- Patience at the end ---

// A launch that is not stuck comes back within these polls, and then finds its communicator alive.
// One that is stuck comes back by the abort.
constexpr int kLaunchPolls = 100;
constexpr std::chrono::milliseconds kLaunchInterval = 2ms;
// Between two checks whether all aborts have come back, and whether all threads rest.
constexpr std::chrono::milliseconds kEndingInterval = 1ms;
// At the exit of the process, for threads to leave their calls.
constexpr std::chrono::milliseconds kLongestExit = 500ms;
// At the end of a worker thread, for the aborts of its communicators.
constexpr std::chrono::seconds kLongestAbort = 2s;

// --- Kernels ---

constexpr unsigned kThreads = 256;
constexpr std::size_t kBlocksPerProcessor = 8;
// What one block copies at a time: large pieces are cut, so that all blocks have work.
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

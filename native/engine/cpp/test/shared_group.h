#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "shared/shared_executor.h"
#include "test_grid.h"

// Groups of ranks that share memory, for tests.
namespace coll::test {

constexpr std::size_t kArenaForTests = std::size_t{256} << 20;
constexpr int kMostRanksForTests = 64;
constexpr unsigned kLongestSeconds = 1000;

// Words by which the ranks of a test report to each other, in zeroed memory that forked processes
// share.
struct Notices {
  SegmentInfo infos[kMostRanksForTests];
  std::atomic<int> arrived;
  std::atomic<std::int32_t> failure;
  std::atomic<int> words[8];  // for the test

  void meet(int ranks) {
    const int turn = arrived.fetch_add(1) / ranks;
    while (arrived.load() < (turn + 1) * ranks) std::this_thread::yield();
  }
};

// One rank with its executor.
struct SharedRank {
  int rank;
  int ranks;
  Notices& notices;
  std::shared_ptr<SharedMemory> memory;
  std::unique_ptr<SharedExecutor> executor;

  Status finish(Offer& offer) {
    for (;;) {
      const Status status = executor->execute(offer, std::chrono::milliseconds(100));
      if (status != Status::kWaiting) return status;
    }
  }
};

inline SharedRank join(Notices& notices, int rank, std::vector<std::shared_ptr<Segment>> segments, int cores) {
  const int ranks = static_cast<int>(segments.size());
  auto memory = std::make_shared<SharedMemory>(rank, std::move(segments));
  auto executor = std::make_unique<SharedExecutor>(memory, rank, ranks, LocalRank{rank, ranks, cores}, notices.failure);
  return {rank, ranks, notices, std::move(memory), std::move(executor)};
}

class SharedNotices {
 public:
  SharedNotices()
      : notices_(static_cast<Notices*>(
            mmap(nullptr, sizeof(Notices), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedNotices() { munmap(notices_, sizeof(Notices)); }
  Notices& operator*() { return *notices_; }
  Notices* operator->() { return notices_; }

 private:
  Notices* notices_;
};

// Opens the segments of all ranks by their infos, as processes do. Each rank has mappings of its
// own.
inline std::vector<std::shared_ptr<Segment>> exchange(Notices& notices, int rank, int ranks) {
  std::vector<std::shared_ptr<Segment>> segments(static_cast<std::size_t>(ranks));
  const auto own = Segment::create(kArenaForTests);
  notices.infos[rank] = own->info();
  notices.meet(ranks);
  for (int other = 0; other < ranks; ++other) {
    segments[static_cast<std::size_t>(other)] = other == rank ? own : Segment::open(notices.infos[other]);
    segments[static_cast<std::size_t>(other)]->leave_mark(rank);
  }
  notices.meet(ranks);
  for (int other = 0; other < ranks; ++other) {
    if (!own->has_mark_of(other)) throw std::runtime_error("a mark is missing");
  }
  return segments;
}

// Forks a process for each rank and runs work(SharedRank&) in it. The function returns whether its
// checks have passed.
template <class Work>
std::vector<pid_t> fork_ranks(Notices& notices, int ranks, int cores, Work work) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kLongestSeconds);
      bool is_well = false;
      try {
        SharedRank self = join(notices, rank, exchange(notices, rank, ranks), cores);
        is_well = work(self);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      // Skips the exit handlers of the parent process.
      _exit(is_well ? 0 : 1);
    }
    children.push_back(child);
  }
  return children;
}

// The exit status of a child: 0 if its checks have passed.
inline int ending_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// Runs the ranks on threads of this process that share mappings, so that the thread sanitizer sees
// all accesses.
template <class Work>
bool on_threads(Notices& notices, int ranks, int cores, Work work) {
  std::vector<std::shared_ptr<Segment>> segments;
  for (int rank = 0; rank < ranks; ++rank) segments.push_back(Segment::create(kArenaForTests));
  std::vector<SharedRank> members;
  for (int rank = 0; rank < ranks; ++rank) members.push_back(join(notices, rank, segments, cores));
  std::atomic<bool> is_well{true};
  std::vector<std::thread> threads;
  for (SharedRank& member : members) {
    threads.emplace_back([&] {
      if (!work(member)) is_well = false;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return is_well;
}

}  // namespace coll::test

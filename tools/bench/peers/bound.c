// Measures the memory bound: BENCH_RANKS threads, each of which adds 1 to every element of its own buffer, in place. No all-reduce that
// reads and writes every rank's buffer once can be faster, whatever it computes.
#define _GNU_SOURCE
#include "trial.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { kMaxThreads = 64, kMaxValues = 4096 };

struct Team {
  int threads;
  int cores;
  atomic_int arrived;
  atomic_int round;
  const double *values[kMaxThreads];
  double maxima[kMaxValues];
};

struct Member {
  struct Team *team;
  int rank;
  int argc;
  char **argv;
};

// The last thread to arrive runs the work. No thread returns before that.
static void meet(struct Team *team, void (*work)(struct Team *, int), int count) {
  const int round = atomic_load(&team->round);
  if (atomic_fetch_add(&team->arrived, 1) + 1 == team->threads) {
    work(team, count);
    atomic_store(&team->arrived, 0);
    atomic_store(&team->round, round + 1);
  }
  while (atomic_load(&team->round) == round) sched_yield();
}

static void take_maxima(struct Team *team, int count) {
  for (int i = 0; i < count; ++i) {
    team->maxima[i] = team->values[0][i];
    for (int rank = 1; rank < team->threads; ++rank)
      if (team->values[rank][i] > team->maxima[i]) team->maxima[i] = team->values[rank][i];
  }
}

static void leave(struct Team *team, int count) {
  (void)team;
  (void)count;
}

static void agree(void *library, double *values, int count) {
  const struct Member *member = (const struct Member *)library;
  struct Team *team = member->team;
  if (count > kMaxValues) exit(2);
  team->values[member->rank] = values;
  meet(team, take_maxima, count);
  memcpy(values, team->maxima, (size_t)count * sizeof *values);
  // No thread may overwrite the maxima while others still copy them.
  meet(team, leave, 0);
}

static void update(void *library, const float *from, float *into, size_t count) {
  struct Team *team = ((const struct Member *)library)->team;
  for (size_t i = 0; i < count; ++i) into[i] = from[i] + 1;
  // Prevents the compiler from merging the updates of several calls.
  __asm__ volatile("" : : "r"(into) : "memory");
  // Threads that share a core are done when the last one is. Each one alone would seem faster.
  if (team->threads > team->cores) meet(team, leave, 0);
}

static int cores_of(cpu_set_t *allowed) {
  return sched_getaffinity(0, sizeof *allowed, allowed) == 0 ? CPU_COUNT(allowed) : 1;
}

static void bind_to_core(int rank, int threads) {
  cpu_set_t allowed;
  if (threads > cores_of(&allowed)) return;
  for (int core = 0, nth = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || nth++ != rank) continue;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(core, &mine);
    pthread_setaffinity_np(pthread_self(), sizeof mine, &mine);
    return;
  }
}

static void *run_member(void *argument) {
  struct Member *member = (struct Member *)argument;
  bind_to_core(member->rank, member->team->threads);
  const struct Peer peer = {member->rank, member->team->threads, 0, member, update, agree};
  return run_trials(&peer, member->argc, member->argv) == 0 ? NULL : argument;
}

int main(int argc, char **argv) {
  const char *ranks = getenv("BENCH_RANKS");
  static struct Team team;
  team.threads = ranks == NULL ? 0 : atoi(ranks);
  cpu_set_t allowed;
  team.cores = cores_of(&allowed);
  if (team.threads < 1 || team.threads > kMaxThreads) return 2;
  static struct Member members[kMaxThreads];
  pthread_t threads[kMaxThreads];
  for (int rank = 0; rank < team.threads; ++rank) {
    members[rank] = (struct Member){&team, rank, argc, argv};
    if (pthread_create(&threads[rank], NULL, run_member, &members[rank]) != 0) return 1;
  }
  int status = 0;
  for (int rank = 0; rank < team.threads; ++rank) {
    void *failed = NULL;
    pthread_join(threads[rank], &failed);
    if (failed != NULL) status = 2;
  }
  return status;
}

// MPI_Allreduce of Open MPI and MPICH. With BENCH_BACKOFF, it calls MPI_Iallreduce and then MPI_Test, and waits like @coll/mpi.
//
//   BENCH_BACKOFF=SPINS,YIELDS,MICROS   SPINS tests without a pause, then tests with sched_yield between them up to YIELDS, then
//                                       tests with sleeps of MICROS microseconds (0: it keeps yielding)
#define _GNU_SOURCE
#include "trial.h"

#include <mpi.h>
#include <sched.h>

struct Backoff {
  long spins;
  long yields;
  long micros;
};

static void all_reduce(void *library, const float *from, float *into, size_t count) {
  (void)library;
  MPI_Allreduce(from == into ? MPI_IN_PLACE : from, into, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void pause_after(const struct Backoff *backoff, long tests) {
  if (tests <= backoff->spins) return;
  if (tests <= backoff->yields || backoff->micros == 0) {
    sched_yield();
    return;
  }
  const struct timespec time = {0, backoff->micros * 1000};
  nanosleep(&time, NULL);
}

static void await(const struct Backoff *backoff, MPI_Request *request) {
  int done = 0;
  for (long tests = 1;; ++tests) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    pause_after(backoff, tests);
  }
}

static void start_all_reduce(void *library, const float *from, float *into, size_t count) {
  MPI_Request request;
  const void *source = from == into ? MPI_IN_PLACE : from;
  MPI_Iallreduce(source, into, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  await((const struct Backoff *)library, &request);
}

// This waits with the back-off as well: in a blocking call of MPICH, ranks that share a core would starve each other.
static void agree(void *library, double *values, int count) {
  if (library == NULL) {
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return;
  }
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  await((const struct Backoff *)library, &request);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  struct Backoff backoff;
  const char *text = getenv("BENCH_BACKOFF");
  const int tests = text != NULL;
  if (tests && sscanf(text, "%ld,%ld,%ld", &backoff.spins, &backoff.yields, &backoff.micros) != 3) return 2;
  struct Peer peer = {0, 0, 1, tests ? &backoff : NULL, tests ? start_all_reduce : all_reduce, agree};
  MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &peer.ranks);
  const int status = run_trials(&peer, argc, argv);
  MPI_Finalize();
  return status;
}

// MPI_Allreduce, for Open MPI and MPICH.
#define _POSIX_C_SOURCE 200809L
#include "trial.h"

#include <mpi.h>

static void all_reduce(void *library, const float *from, float *into, size_t count) {
  (void)library;
  MPI_Allreduce(from == into ? MPI_IN_PLACE : from, into, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void agree(void *library, double *values, int count) {
  (void)library;
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  struct Peer peer = {0, 0, 1, NULL, all_reduce, agree};
  MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &peer.ranks);
  const int status = run_trials(&peer, argc, argv);
  MPI_Finalize();
  return status;
}

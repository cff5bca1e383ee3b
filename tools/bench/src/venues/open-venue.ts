import type { VenueName } from '../trial.js';
import { MainThread } from './main-thread.js';
import { mpiRankProgram, PeerProcesses } from './peer-processes.js';
import { RankProcesses } from './rank-processes.js';
import { RankThreads } from './rank-threads.js';
import { ReplicaThreads } from './replica-threads.js';
import type { Venue } from './venue.js';

/** Opens a venue for a number of ranks. A peer that prints no figure for `silenceSeconds` is killed. */
export function openVenue(name: VenueName, ranks: number, silenceSeconds: number): Venue {
  switch (name) {
    case 'main-thread':
      return new MainThread(ranks);
    case 'rank-threads':
      return new RankThreads(ranks);
    case 'rank-processes':
      return new RankProcesses(ranks);
    case 'replica-threads':
      return new ReplicaThreads(ranks);
    case 'mpi-openmpi':
      return new PeerProcesses('openmpi', ranks, silenceSeconds, mpiRankProgram);
    case 'mpi-mpich':
      return new PeerProcesses('mpich', ranks, silenceSeconds, mpiRankProgram);
    default:
      return new PeerProcesses(name, ranks, silenceSeconds);
  }
}

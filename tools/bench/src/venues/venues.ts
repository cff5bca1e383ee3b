import { remembered } from '../remembered.js';
import type { FreshVenueName, VenueName } from '../trial.js';
import { FreshProcesses } from './fresh-processes.js';
import { MainThread } from './main-thread.js';
import { mpiRankProgram, PeerProcesses } from './peer-processes.js';
import { RankProcesses } from './rank-processes.js';
import { RankThreads } from './rank-threads.js';
import { ReplicaThreads } from './replica-threads.js';
import type { Venue } from './venue.js';

/** The venues for a number of ranks, each opened when it is first needed. */
export class Venues {
  readonly #opened = new Map<VenueName, Venue>();
  readonly #ranks: number;
  readonly #silenceSeconds: number;

  /** @param silenceSeconds how long a peer may print no figure before it counts as hung and is killed */
  constructor(ranks: number, silenceSeconds: number) {
    this.#ranks = ranks;
    this.#silenceSeconds = silenceSeconds;
  }

  open(name: VenueName): Venue {
    return remembered(this.#opened, name, () => openVenue(name, this.#ranks, this.#silenceSeconds));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((venue) => venue.close()));
  }
}

function openVenue(name: VenueName, ranks: number, silenceSeconds: number): Venue {
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
      if (isFresh(name)) return new FreshProcesses(name, ranks, silenceSeconds);
      return new PeerProcesses(name, ranks, silenceSeconds);
  }
}

function isFresh(name: VenueName): name is FreshVenueName {
  return name.startsWith('fresh-');
}

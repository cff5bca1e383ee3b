import { bytesPerElement } from '../sizes.js';
import type { Engine, SuiteName, Turn, VenueName } from '../trial.js';

/** Where an engine's trials run, but for those of replica contexts. */
export function venueFor(engine: Engine): VenueName {
  return engine === 'portable' ? 'main-thread' : 'rank-threads';
}

/** The copy of memory that all trials of a suite on as many bytes are compared with. */
export function copyOf(suite: SuiteName, ranks: number, bytes: number): Turn {
  const counts = [bytes / bytesPerElement];
  const trial = { suite, name: 'copy', work: { type: 'copy' }, engine: 'copy', input: 'still', ranks, counts } as const;
  return { venue: 'main-thread', trials: [trial] };
}

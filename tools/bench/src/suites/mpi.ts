import { type MpiName, mpiNames } from '../peers/peers.js';
import { bytesPerElement, geometricSizes } from '../sizes.js';
import type { Form, Session, Trial, Turn } from '../trial.js';
import { spansOf } from './in-process.js';
import { yardsticks } from './players.js';
import type { Selection } from './selection.js';

const usualForms: readonly Form[] = ['sync', 'async'];

/**
 * All-reduce of one buffer by @coll/mpi on each MPI library that is among the peers. Beside it C programs: one that makes the same calls of MPI,
 * twice, and one that calls the blocking function.
 */
export function mpi(selection: Selection, ranks: number): Session[] {
  const { bytes = geometricSizes(bytesPerElement, 16 * 2 ** 20, selection.isQuick ? 64 : 16), peers } = selection;
  return mpiNames
    .filter((library) => peers.includes(library))
    .flatMap((library) =>
      spansOf(bytes).map((sizes) => ({
        label: `${library} by @coll/mpi`,
        ranks,
        pieces: [[...yardsticksOf(selection, ranks, sizes), ...turnsOf(library, selection, ranks, sizes)]],
      })),
    );
}

function yardsticksOf(selection: Selection, ranks: number, sizes: readonly number[]): Turn[] {
  return sizes.flatMap((bytes) => yardsticks('mpi', ranks, bytes, { ...selection, hasBound: false }));
}

function turnsOf(library: MpiName, { forms }: Selection, ranks: number, sizes: readonly number[]): Turn[] {
  const trialOf = (bytes: number, variant: Pick<Trial, 'name' | 'engine'> & Partial<Trial>): Trial => ({
    suite: 'mpi',
    work: { type: 'collective', kind: 'all-reduce' },
    input: 'still',
    place: 'in',
    ranks,
    counts: [bytes / bytesPerElement],
    library,
    ...variant,
  });
  const peerTurn = (name: string, peer: MpiName | `${MpiName}-nonblocking`): Turn => ({
    venue: peer,
    trials: sizes.map((bytes) => trialOf(bytes, { name, engine: 'peer', peer })),
  });
  const program = `${library}-nonblocking` as const;
  const ours = (forms ?? usualForms).filter((form) => usualForms.includes(form));
  return [
    peerTurn(`${library}, C program`, program),
    {
      venue: `mpi-${library}`,
      trials: sizes.flatMap((bytes) =>
        ours.map((form) => trialOf(bytes, { name: `${library}, @coll/mpi`, engine: 'mpi', form })),
      ),
    },
    peerTurn(`${library}, blocking`, library),
    peerTurn(`${library}, C program again`, program),
  ];
}

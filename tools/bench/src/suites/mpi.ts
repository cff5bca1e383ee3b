import { type MpiName, mpiNames } from '../peers/peers.js';
import { bytesPerElement, geometricSizes } from '../sizes.js';
import type { Form, Session, Turn } from '../trial.js';
import { allReduceOf, spansOf } from './in-process.js';
import type { Selection } from './selection.js';
import { yardsticks } from './variants.js';

const suite = 'mpi';
const usualForms: readonly Form[] = ['sync', 'async'];

/**
 * All-reduce of one buffer by @coll/mpi on each MPI library among the peers. C programs are measured beside it: one makes the same MPI
 * calls, in two runs, and one makes the blocking call.
 */
export function mpi(selection: Selection, ranks: number): Session[] {
  const { bytes = geometricSizes(bytesPerElement, 16 * 2 ** 20, selection.isQuick ? 64 : 16), peers } = selection;
  return mpiNames
    .filter((library) => peers.includes(library))
    .flatMap((library) =>
      spansOf(bytes).map((sizes) => ({
        label: `${library} by @coll/mpi`,
        ranks,
        pieces: [[...yardsticksOf(ranks, sizes), ...turnsOf(library, selection, ranks, sizes)]],
      })),
    );
}

function yardsticksOf(ranks: number, sizes: readonly number[]): Turn[] {
  return sizes.flatMap((bytes) => yardsticks(suite, ranks, bytes, { hasBound: false }));
}

function turnsOf(library: MpiName, { forms }: Selection, ranks: number, sizes: readonly number[]): Turn[] {
  const peerTurn = (name: string, peer: MpiName | `${MpiName}-nonblocking`): Turn => ({
    venue: peer,
    trials: sizes.map((bytes) => allReduceOf({ suite, library, name, engine: 'peer', peer }, ranks, bytes)),
  });
  const program = `${library}-nonblocking` as const;
  const name = `${library}, @coll/mpi`;
  const ours = (forms ?? usualForms).filter((form) => usualForms.includes(form));
  return [
    peerTurn(`${library}, C program`, program),
    {
      venue: `mpi-${library}`,
      trials: sizes.flatMap((bytes) =>
        ours.map((form) => allReduceOf({ suite, library, name, engine: 'mpi', form }, ranks, bytes)),
      ),
    },
    peerTurn(`${library}, blocking`, library),
    peerTurn(`${library}, C program again`, program),
  ];
}

import { bytesPerElement, geometricSizes } from '../sizes.js';
import type { Engine, Piece, Session, Turn } from '../trial.js';
import { copyOf } from './places.js';
import type { Selection } from './selection.js';

/** All-reduce through the contexts of a strategy's replicas: threads of their own, or functions in one thread. */
export function strategy(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? geometricSizes(bytesPerElement, 64 * 2 ** 20, selection.isQuick ? 64 : 4);
  return [{ label: 'strategy', ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) }];
}

// What differs between algorithms is the communicator's doing, which `in-process` measures.
function pieceOf({ algorithms = ['direct'], engines }: Selection, ranks: number, bytes: number): Piece {
  const turns = engines.flatMap((engine) =>
    algorithms.map((algorithm): Turn => {
      const trial = {
        suite: 'strategy',
        name: `${callOf[engine]} ${algorithm}`,
        work: { type: 'context' },
        engine,
        algorithm,
        input: 'still',
        ranks,
        counts: [bytes / bytesPerElement],
      } as const;
      return { venue: engine === 'portable' ? 'main-thread' : 'replica-threads', trials: [trial] };
    }),
  );
  return [copyOf('strategy', ranks, bytes), ...turns];
}

const callOf: Readonly<Record<Engine, string>> = {
  portable: 'allReduce',
  'threads-sync': 'allReduceSync',
  'threads-async': 'allReduce',
};

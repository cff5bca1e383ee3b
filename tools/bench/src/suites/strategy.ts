import { bytesPerElement, geometricSizes } from '../sizes.js';
import { type ContextMemory, contextMemory, type Form, type Piece, type Session, type Turn } from '../trial.js';
import { playersOf, yardsticks } from './players.js';
import type { Selection } from './selection.js';

/** All-reduce through the contexts of a strategy's replicas: threads of their own, or functions in one thread. */
export function strategy(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? geometricSizes(bytesPerElement, 64 * 2 ** 20, selection.isQuick ? 64 : 4);
  return [{ label: 'strategy', ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) }];
}

function pieceOf(selection: Selection, ranks: number, bytes: number): Piece {
  const turns = playersOf(selection).flatMap((player) =>
    contextMemory.map((memory): Turn => {
      const trial = {
        ...player,
        suite: 'strategy',
        name: `${callOf[player.form]} ${player.algorithm}${wordsFor[memory]}`,
        work: { type: 'context', memory },
        input: 'still',
        place: 'in',
        ranks,
        counts: [bytes / bytesPerElement],
      } as const;
      return { venue: player.form === 'controller' ? 'main-thread' : 'replica-threads', trials: [trial] };
    }),
  );
  return [...yardsticks('strategy', ranks, bytes, { ...selection, inputs: ['still'] }), ...turns];
}

const wordsFor: Readonly<Record<ContextMemory, string>> = {
  known: '',
  new: ' of new memory',
  result: ' into a new result',
  alone: ': new memory alone',
};

const callOf: Readonly<Record<Form, string>> = {
  sync: 'allReduceSync',
  async: 'allReduce',
  controller: 'allReduce',
};

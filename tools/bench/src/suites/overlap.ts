import { type GradientSet, gradientLengths } from '../gradients.js';
import { bytesPerElement } from '../sizes.js';
import type { Overlap, Piece, Session, Trial, Turn } from '../trial.js';
import { networksOf, playersOf, yardsticks } from './players.js';
import type { Selection } from './selection.js';

const orders: readonly Overlap['order'][] = ['computed', 'after', 'overlapped'];

/** How much of an all-reduce of gradients hides behind the computation of known length that they come from. */
export function overlap(selection: Selection, ranks: number): Session[] {
  return networksOf(selection).map((set) => ({
    label: `overlap of ${set}`,
    ranks,
    pieces: [pieceOf(selection, ranks, set)],
  }));
}

function pieceOf(selection: Selection, ranks: number, set: GradientSet): Piece {
  // The values of a call are in the order of the layers, which are completed from the last one on.
  const lengths = gradientLengths(set).reverse();
  const bytes = lengths.reduce((sum, length) => sum + length, 0) * bytesPerElement;
  const players = playersOf({ ...selection, forms: ['async'] });
  const turns = players.flatMap((player) =>
    [false, true].flatMap((isBusy) =>
      orders.map((order): Turn => {
        const computeMillis = selection.isQuick ? 50 : 200;
        const trial: Trial = {
          ...player,
          suite: 'overlap',
          name: `${set} ${computeMillis} ms ${isBusy ? 'computed here' : 'computed elsewhere'}, ${told[order]}`,
          work: { type: 'overlap', order, isBusy, bytesPerPack: 4 * 2 ** 20, computeMillis },
          gradients: set,
          input: 'still',
          place: 'in',
          ranks,
          counts: lengths,
        };
        return { venue: 'replica-threads', trials: [trial] };
      }),
    ),
  );
  return [...yardsticks('overlap', ranks, bytes, { ...selection, inputs: ['still'] }), ...turns];
}

const told: Readonly<Record<Overlap['order'], string>> = {
  computed: 'alone',
  after: 'then reduced',
  overlapped: 'reduced meanwhile',
};

import { type GradientSet, gradientBytes, gradientLengths } from '../gradients.js';
import type { Overlap, Piece, Session } from '../trial.js';
import type { Selection } from './selection.js';
import { sessionsOfNetworks, turnOf, variantsOf, yardsticks } from './variants.js';

const suite = 'overlap';
const orders: readonly Overlap['order'][] = ['computed', 'after', 'overlapped'];

/** How much of the all-reduce of gradients runs during their computation, whose time is known. */
export function overlap(selection: Selection, ranks: number): Session[] {
  return sessionsOfNetworks(suite, selection, ranks, (set) => pieceOf(selection, ranks, set));
}

function pieceOf(selection: Selection, ranks: number, set: GradientSet): Piece {
  // Calls list the layers from first to last, and a backward pass completes them from last to first.
  const counts = gradientLengths(set).reverse();
  const computeMillis = selection.isQuick ? 50 : 200;
  const turns = variantsOf({ ...selection, forms: ['async'] }).flatMap((variant) =>
    [false, true].flatMap((isBusy) =>
      orders.map((order) => {
        const name = `${set} ${computeMillis} ms ${isBusy ? 'computed here' : 'computed elsewhere'}, ${words[order]}`;
        const work = { type: suite, order, isBusy, bytesPerPack: 4 * 2 ** 20, computeMillis } as const;
        return turnOf('replica-threads', { ...variant, suite, name, work, gradients: set, ranks, counts });
      }),
    ),
  );
  return [...yardsticks(suite, ranks, gradientBytes(set), selection), ...turns];
}

const words: Readonly<Record<Overlap['order'], string>> = {
  computed: 'alone',
  after: 'then reduced',
  overlapped: 'reduced meanwhile',
};

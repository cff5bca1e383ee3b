import type { PackingOptions } from '@coll/core';
import { type GradientSet, gradientBytes, gradientLengths } from '../gradients.js';
import { formatBytes } from '../sizes.js';
import type { Piece, Session } from '../trial.js';
import type { Selection } from './selection.js';
import { fitsMemory, sessionsOfNetworks, turnOf, variantsOf, venueFor, yardsticks } from './variants.js';

const suite = 'packing';

/** A way to divide a list of gradients into packs. */
interface Packing {
  readonly name: string;
  readonly bytesPerPack: number;
  readonly packing: PackingOptions;
}

const byNumber = [0, 1, 4].map((numPacks): Packing => {
  const name = numPacks === 0 ? 'a pack a tensor' : numPacks === 1 ? 'one pack' : `${numPacks} packs`;
  return { name, bytesPerPack: 0, packing: { numPacks } };
});

// TensorFlow's defaults: groups of ten and a few more.
const small: Packing = {
  name: 'small ones joined',
  bytesPerPack: 0,
  packing: { numPacks: 0, aggSmallGradsMaxBytes: 65_536, aggSmallGradsMaxGroup: 10 },
};

/** The gradients of networks through cross-device ops: without packs, in one pack, and in several. */
export function packing(selection: Selection, ranks: number): Session[] {
  return sessionsOfNetworks(suite, selection, ranks, (set) => pieceOf(selection, ranks, set));
}

function pieceOf(selection: Selection, ranks: number, set: GradientSet): Piece {
  const counts = gradientLengths(set);
  const bytes = gradientBytes(set);
  // Packs of one size are kept while packs of another size are made.
  const fitting = variantsOf(selection).filter(
    (variant) => variant.form === 'controller' || fitsMemory(variant, 2 * bytes, ranks),
  );
  const turns = packings(selection.isQuick).flatMap(({ name: words, bytesPerPack, packing: options }) =>
    fitting.map((variant) => {
      const name = `${set} ${words} ${variant.algorithm}`;
      const work = { type: 'batch', bytesPerPack, packing: options } as const;
      return turnOf(venueFor(variant.form), { ...variant, suite, name, work, gradients: set, ranks, counts });
    }),
  );
  return [...yardsticks(suite, ranks, bytes, selection), ...turns];
}

function packings(isQuick: boolean): Packing[] {
  const bySize = (isQuick ? [1] : [1, 25, 50]).map((mebibytes): Packing => {
    const bytesPerPack = mebibytes * 2 ** 20;
    return { name: `packs of ${formatBytes(bytesPerPack)}`, bytesPerPack, packing: {} };
  });
  return [...byNumber, ...bySize, small];
}

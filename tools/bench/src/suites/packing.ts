import type { PackingOptions } from '@coll/core';
import { type GradientSet, gradientLengths } from '../gradients.js';
import { bytesPerElement, formatBytes } from '../sizes.js';
import type { Piece, Session, Trial, Turn } from '../trial.js';
import { fitsMemory, networksOf, playersOf, venueFor, yardsticks } from './players.js';
import type { Selection } from './selection.js';

/** A way to cut a list of gradients into packs. */
interface Packing {
  readonly name: string;
  readonly bytesPerPack: number;
  readonly packing: PackingOptions;
}

const byNumber = [0, 1, 4].map((numPacks): Packing => {
  const name = numPacks === 0 ? 'a pack a tensor' : numPacks === 1 ? 'one pack' : `${numPacks} packs`;
  return { name, bytesPerPack: 0, packing: { numPacks } };
});

// As the original's users have it: groups of ten and a few more.
const small: Packing = {
  name: 'small ones joined',
  bytesPerPack: 0,
  packing: { numPacks: 0, aggSmallGradsMaxBytes: 65_536, aggSmallGradsMaxGroup: 10 },
};

/** The gradients of whole networks through cross-device ops: not packed at all, in one pack, and in between. */
export function packing(selection: Selection, ranks: number): Session[] {
  return networksOf(selection).map((set) => ({
    label: `packing of ${set}`,
    ranks,
    pieces: [pieceOf(selection, ranks, set)],
  }));
}

function pieceOf(selection: Selection, ranks: number, set: GradientSet): Piece {
  const lengths = gradientLengths(set);
  const bytes = lengths.reduce((sum, length) => sum + length, 0) * bytesPerElement;
  // Packs of one size are kept while those of another are made.
  const fitting = playersOf(selection).filter(
    (player) => player.form === 'controller' || fitsMemory(player, 2 * bytes, ranks),
  );
  const turns = packings(selection.isQuick).flatMap(({ name, bytesPerPack, packing: options }) =>
    fitting.map((player): Turn => {
      const trial: Trial = {
        ...player,
        suite: 'packing',
        name: `${set} ${name} ${player.algorithm}`,
        work: { type: 'batch', bytesPerPack, packing: options },
        gradients: set,
        input: 'still',
        place: 'in',
        ranks,
        counts: lengths,
      };
      return { venue: venueFor(player.form), trials: [trial] };
    }),
  );
  return [...yardsticks('packing', ranks, bytes, { ...selection, inputs: ['still'] }), ...turns];
}

function packings(isQuick: boolean): Packing[] {
  const bySize = (isQuick ? [1] : [1, 25, 50]).map((mebibytes): Packing => {
    const bytesPerPack = mebibytes * 2 ** 20;
    return { name: `packs of ${formatBytes(bytesPerPack)}`, bytesPerPack, packing: {} };
  });
  return [...byNumber, ...bySize, small];
}

import { type GradientSet, gradientLengths } from '../gradients.js';
import { bytesPerElement, formatBytes } from '../sizes.js';
import type { Piece, Session, Trial, Turn } from '../trial.js';
import { fitsMemory, networksOf, playersOf, venueFor, yardsticks } from './players.js';
import type { Selection } from './selection.js';

/** A way to cut a list of gradients into packs: by the bytes after which one is closed. */
interface Packing {
  readonly name: string;
  readonly bytesPerPack: number;
}

// A pack is closed once it holds more than its bytes, so that with one byte every tensor has its own.
const onePack: Packing = { name: 'one pack', bytesPerPack: 0 };
const packEach: Packing = { name: 'a pack a tensor', bytesPerPack: 1 };

/** The gradients of whole networks through cross-device ops: joined into one pack, one by one, and in between. */
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
  const turns = packings(selection.isQuick).flatMap(({ name, bytesPerPack }) =>
    fitting.map((player): Turn => {
      const trial: Trial = {
        ...player,
        suite: 'packing',
        name: `${set} ${name} ${player.algorithm}`,
        work: { type: 'batch', bytesPerPack },
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
  const sizes = isQuick ? [4] : [1, 4, 25, 50];
  const between = sizes.map((mebibytes) => {
    const bytesPerPack = mebibytes * 2 ** 20;
    return { name: `packs of ${formatBytes(bytesPerPack)}`, bytesPerPack };
  });
  return [packEach, ...between, onePack];
}

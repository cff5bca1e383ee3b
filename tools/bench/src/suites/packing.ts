import { type GradientSet, gradientLengths, gradientSets } from '../gradients.js';
import { bytesPerElement, formatBytes } from '../sizes.js';
import type { Piece, Session, Trial, Turn } from '../trial.js';
import { copyOf, venueFor } from './places.js';
import type { Selection } from './selection.js';

/** A way to cut a list of gradients into packs: by the bytes after which one is closed. */
interface Packing {
  readonly name: string;
  readonly bytesPerPack: number;
}

// A pack is closed once it holds more than its bytes, so that with one byte every tensor has its own.
const fused: Packing = { name: 'fused', bytesPerPack: 0 };
const perTensor: Packing = { name: 'per tensor', bytesPerPack: 1 };

/** The gradients of whole networks through cross-device ops: joined into one pack, one by one, and in between. */
export function packing(selection: Selection, ranks: number): Session[] {
  const sets = selection.isQuick ? (['resnet50'] as const) : gradientSets;
  return sets.map((set) => ({
    label: `packing of ${set}`,
    ranks,
    pieces: [pieceOf(selection, ranks, set)],
  }));
}

function pieceOf(
  { algorithms = ['direct'], engines, peers, isQuick }: Selection,
  ranks: number,
  set: GradientSet,
): Piece {
  const lengths = gradientLengths(set);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const common = { suite: 'packing', input: 'still', ranks } as const;
  const fitting = engines.filter((engine) => engine === 'portable' || fitsShared(total * bytesPerElement, ranks));
  const ours = packings(isQuick).flatMap(({ name, bytesPerPack }) =>
    fitting.flatMap((engine) =>
      algorithms.map((algorithm): Turn => {
        const work = { type: 'batch', gradients: set, bytesPerPack } as const;
        const trial: Trial = {
          ...common,
          name: `${set} ${name} ${algorithm}`,
          work,
          engine,
          algorithm,
          counts: lengths,
        };
        return { venue: venueFor(engine), trials: [trial] };
      }),
    ),
  );
  const theirs = peers.map((peer): Turn => {
    const trials = [fused, perTensor].map((packed): Trial => {
      const work = { type: 'batch', gradients: set, bytesPerPack: packed.bytesPerPack } as const;
      const counts = packed === fused ? [total] : lengths;
      return { ...common, name: `${set} ${packed.name} ${peer}`, work, engine: 'peer', peer, counts };
    });
    return { venue: peer, trials };
  });
  return [copyOf('packing', ranks, total * bytesPerElement), ...ours, ...theirs];
}

// What the threads of a group can share. Packs of one size are kept while those of another are made.
const sharedBytes = 2 ** 31;

function fitsShared(bytes: number, ranks: number): boolean {
  return 2 * ranks * bytes <= sharedBytes;
}

function packings(isQuick: boolean): Packing[] {
  const sizes = isQuick ? [4] : [1, 4, 25, 50];
  const between = sizes.map((mebibytes) => {
    const bytesPerPack = mebibytes * 2 ** 20;
    return { name: `packs of ${formatBytes(bytesPerPack)}`, bytesPerPack };
  });
  return [perTensor, ...between, fused];
}

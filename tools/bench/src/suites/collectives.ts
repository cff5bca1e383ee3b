import { collectiveKinds } from '@coll/core/plugin';
import { bytesPerElement } from '../sizes.js';
import type { Piece, Session } from '../trial.js';
import type { Selection } from './selection.js';
import { turnOf, variantsOf, venueFor, yardsticks } from './variants.js';

const suite = 'collectives';
const kinds = collectiveKinds.filter((kind) => kind !== 'all-reduce');

/** The collectives other than all-reduce, through communicators. */
export function collectives(selection: Selection, ranks: number): Session[] {
  const defaults = selection.isQuick ? [65_536, 4 * 2 ** 20] : [1024, 65_536, 2 ** 20, 16 * 2 ** 20];
  const sizes = [...new Set((selection.bytes ?? defaults).map((bytes) => divisible(bytes, ranks)))];
  return [{ label: suite, ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) }];
}

/** The largest size up to `bytes` that gives each rank the same number of elements, at least one. */
function divisible(bytes: number, ranks: number): number {
  const block = ranks * bytesPerElement;
  return Math.max(1, Math.floor(bytes / block)) * block;
}

function pieceOf(selection: Selection, ranks: number, bytes: number): Piece {
  const counts = [bytes / bytesPerElement];
  const turns = kinds.flatMap((kind) =>
    variantsOf(selection).map((variant) => {
      const name = `${kind} ${variant.algorithm}`;
      return turnOf(venueFor(variant.form), {
        ...variant,
        suite,
        name,
        work: { type: 'collective', kind },
        ranks,
        counts,
      });
    }),
  );
  // The memory bound is the bound of an all-reduce.
  return [...yardsticks(suite, ranks, bytes, { hasBound: false }), ...turns];
}

import { bytesPerElement } from '../sizes.js';
import type { Piece, Session, Work } from '../trial.js';
import type { Selection } from './selection.js';
import { turnOf, variantsOf, yardsticks } from './variants.js';
import { sizesToCall, type WayToCall, waysToCall } from './ways-to-call.js';

const suite = 'ops';
const pairs = 100;
/** Larger pairs take as long as separate calls of `reduce`. */
const mostBytesOfPair = 65_536;

/** `reduce` and `batchReduce` of cross-device ops, called by the thread that has the values of all devices. */
export function ops(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? sizesToCall(selection.isQuick);
  const batched = sizes.filter((bytes) => bytes <= mostBytesOfPair);
  const reduce = (bytes: number) =>
    pieceOf(selection, ranks, 'reduce', [bytes / bytesPerElement], ({ memory }) => ({ type: 'reduce', memory }));
  const batchReduce = (bytes: number) => {
    const counts = Array.from({ length: pairs }, () => bytes / bytesPerElement);
    const workOf = ({ memory }: WayToCall): Work => ({ type: 'batch', bytesPerPack: 0, memory });
    return pieceOf(selection, ranks, `batchReduce of ${pairs}`, counts, workOf);
  };
  return [{ label: suite, ranks, pieces: [...sizes.map(reduce), ...batched.map(batchReduce)] }];
}

function pieceOf(
  selection: Selection,
  ranks: number,
  call: string,
  counts: readonly number[],
  workOf: (way: WayToCall) => Work,
): Piece {
  const turns = variantsOf({ ...selection, forms: ['controller'] }).flatMap((variant) =>
    waysToCall(selection.places).map((way) => {
      const name = `${call} ${variant.algorithm}${way.words}`;
      return turnOf('main-thread', { ...variant, suite, name, work: workOf(way), place: way.place, ranks, counts });
    }),
  );
  const bytes = counts.reduce((sum, count) => sum + count, 0) * bytesPerElement;
  return [...yardsticks(suite, ranks, bytes, selection), ...turns];
}

import { bytesPerElement } from '../sizes.js';
import type { Piece, Session } from '../trial.js';
import type { Selection } from './selection.js';
import { turnOf, variantsOf, yardsticks } from './variants.js';

const suite = 'runs';

/** The cost of a step: successive calls of `strategy.run` of empty replicas, with a number or a batch of a size for each replica. */
export function runs(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? [bytesPerElement, 2 ** 20];
  return [{ label: suite, ranks, pieces: sizes.map((bytes) => pieceOf(selection, ranks, bytes)) }];
}

function pieceOf(selection: Selection, ranks: number, bytes: number): Piece {
  // Neither the engine nor the algorithm changes the time, so the first ones are enough.
  const engines = selection.engines.slice(0, 1);
  const algorithms = selection.algorithms.slice(0, 1);
  const forms = (selection.forms ?? ['async', 'controller']).filter((form) => form !== 'sync');
  const counts = [bytes / bytesPerElement];
  const turns = variantsOf({ ...selection, engines, algorithms, forms }).map((variant) => {
    const name = variant.form === 'controller' ? 'run of a function' : 'run of a module';
    return turnOf('main-thread', { ...variant, suite, name, work: { type: 'run' }, ranks, counts });
  });
  return [...yardsticks(suite, ranks, bytes, selection), ...turns];
}

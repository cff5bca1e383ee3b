import { bytesPerElement } from '../sizes.js';
import type { Session } from '../trial.js';
import type { Selection } from './selection.js';
import { turnOf, variantsOf, venueFor, yardsticks } from './variants.js';

const suite = 'event-loop';

/** Whether timers still fire in a thread that awaits large all-reduces, one after the other. */
export function eventLoop(selection: Selection, ranks: number): Session[] {
  const sizes = selection.bytes ?? [(selection.isQuick ? 16 : 256) * 2 ** 20];
  const waiting = variantsOf(selection).filter(({ form }) => form !== 'sync');
  const pieces = sizes.map((bytes) => [
    ...yardsticks(suite, ranks, bytes, selection),
    ...waiting.map((variant) => {
      const [name, counts] = [`timers ${variant.algorithm}`, [bytes / bytesPerElement]];
      return turnOf(venueFor(variant.form), { ...variant, suite, name, work: { type: 'ticking' }, ranks, counts });
    }),
  ]);
  return waiting.length === 0 ? [] : [{ label: suite, ranks, pieces }];
}

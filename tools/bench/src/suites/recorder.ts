import { bytesPerElement } from '../sizes.js';
import type { Session } from '../trial.js';
import type { Selection } from './selection.js';
import { turnOf, yardsticks } from './variants.js';

const suite = 'recorder';

/** What the flight recorder costs per call: the same blocking calls of one thread with the recorder and without. */
export function recorder(selection: Selection, ranks: number): Session[] {
  const { engines, algorithms, bytes = [4] } = selection;
  const pieces = bytes.map((size) => [
    ...yardsticks(suite, ranks, size, { hasBound: false }),
    ...engines.flatMap((engine) =>
      algorithms.flatMap((algorithm) =>
        [true, false].map((isRecorded) => {
          const name = `${algorithm} ${isRecorded ? 'recorded' : 'not recorded'}`;
          const work = { type: 'recorded', isRecorded } as const;
          const counts = [size / bytesPerElement];
          return turnOf('main-thread', { suite, name, work, engine, form: 'sync', algorithm, ranks, counts });
        }),
      ),
    ),
  ]);
  return [{ label: suite, ranks, pieces }];
}

import { type Collective, nameOf } from '../src/collectives/collective.js';
import type { Communicator, Segments } from '../src/runtime/communicator.js';
import { listOf } from '../src/runtime/segment-list.js';

/** A communicator that keeps what it was asked for, and of how many elements a rank. */
export function keepCalls(inner: Communicator, calls: string[]): Communicator {
  const keep = (collective: Collective, [input = []]: readonly Segments[]) => {
    const length = listOf(input).reduce((sum, { data }) => sum + data.length, 0);
    calls.push(`${nameOf(collective)} of ${length}`);
  };
  return {
    size: inner.size,
    localRanks: inner.localRanks,
    group: inner.group,
    refuses: (...args) => inner.refuses(...args),
    run: (...args) => {
      keep(args[0], args[1]);
      return inner.run(...args);
    },
    runSync: (...args) => {
      keep(args[0], args[1]);
      inner.runSync(...args);
    },
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner.close(),
  };
}

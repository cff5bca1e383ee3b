import { type Collective, nameOf } from '../src/collective.js';
import type { Communicator } from '../src/communicator.js';
import type { Tensor } from '../src/tensor.js';

/** A communicator that keeps what it was asked for, and of how many elements a rank. */
export function keepCalls(inner: Communicator, calls: string[]): Communicator {
  const keep = (collective: Collective, [input]: readonly Tensor[]) => {
    calls.push(`${nameOf(collective)} of ${input?.data.length}`);
  };
  return {
    size: inner.size,
    localRanks: inner.localRanks,
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

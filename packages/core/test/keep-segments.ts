import type { Collective } from '../src/collectives/collective.js';
import { jsEngine } from '../src/js/js-engine.js';
import type { Communicator, Segments } from '../src/runtime/communicator.js';
import type { Engine } from '../src/runtime/engine.js';
import { isList } from '../src/runtime/segment-list.js';

/** A communicator that keeps the kind and the lengths of the segments of each call whose buffers are in segments. */
export function keepSegments(inner: Communicator, calls: string[]): Communicator {
  const keep = ({ kind }: Collective, [input]: readonly Segments[]) => {
    if (input && isList(input)) calls.push(`${kind} ${input.map(({ data }) => data.length).join('+')}`);
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

/** The engine in JavaScript, whose communicators keep the segments of their calls. */
export function segmentsEngine(calls: string[]): Engine {
  return { ...jsEngine, communicator: (...args) => keepSegments(jsEngine.communicator(...args), calls) };
}

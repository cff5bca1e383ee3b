import type { Collective } from '../src/collective.js';
import type { Communicator, RunOptions } from '../src/communicator.js';
import type { Engine } from '../src/engine.js';
import { concatenate, splitLike } from '../src/packing/concatenate.js';
import { copyElements, type Tensor } from '../src/tensor.js';
import { jsEngine } from '../src/threads/thread-engine.js';

type Lists = readonly (readonly Tensor[])[];

/** A communicator that takes pieces, by joining them, and keeps how many it was handed and of which lengths. */
export function piecewise(inner: Communicator, calls: string[]): Communicator {
  const joined = (lists: Lists) => lists.map((tensors) => concatenate(tensors));
  const begin = ({ kind }: Collective, inputs: Lists, outputs: Lists) => {
    calls.push(`${kind} ${inputs[0]?.map(({ data }) => data.length).join('+')}`);
    return { from: joined(inputs), into: joined(outputs) };
  };
  const end = (into: readonly Tensor[], outputs: Lists) => {
    for (const [index, list] of outputs.entries()) {
      for (const [position, part] of splitLike(into[index] as Tensor, list).entries())
        copyElements((list[position] as Tensor).data, part.data);
    }
  };
  return {
    size: inner.size,
    localRanks: inner.localRanks,
    refuses: (...args) => inner.refuses(...args),
    run: (...args) => inner.run(...args),
    runSync: (...args) => inner.runSync(...args),
    async runPieces(collective: Collective, inputs: Lists, outputs: Lists, options?: RunOptions) {
      const { from, into } = begin(collective, inputs, outputs);
      await inner.run(collective, from, into, options);
      end(into, outputs);
    },
    runPiecesSync(collective: Collective, inputs: Lists, outputs: Lists, options?: RunOptions) {
      const { from, into } = begin(collective, inputs, outputs);
      inner.runSync(collective, from, into, options);
      end(into, outputs);
    },
    close: () => inner.close(),
    [Symbol.asyncDispose]: () => inner.close(),
  };
}

/** The engine in JavaScript, whose communicators take pieces. */
export function piecewiseEngine(calls: string[]): Engine {
  return { ...jsEngine, communicator: (...args) => piecewise(jsEngine.communicator(...args), calls) };
}

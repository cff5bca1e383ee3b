import type { ReplicaContext } from '@coll/strategy';
import type { Overlap, Trial } from '../trial.js';
import { problemOf, writePattern } from './pattern.js';
import type { Subject } from './subject.js';

// The shortest timer.
const timerMillis = 1;

/**
 * A replica's computation of gradients, one after the other, with their all-reduce afterwards, during the
 * computation, or not at all.
 */
export function overlapSubject(context: ReplicaContext, trial: Trial, work: Overlap): Subject {
  const { replicaIdInSyncGroup: rank, numReplicasInSync: ranks } = context;
  const values = trial.counts.map((length) => new Float32Array(length));
  const options = { bytesPerPack: work.bytesPerPack, into: values };
  return {
    isSync: false,
    rewrite() {
      for (const value of values) writePattern(value, rank);
    },
    async call() {
      const gradients = values.map(() => new Gradient());
      const promises = gradients.map(({ promise }) => promise);
      const results = work.order === 'overlapped' ? context.allReduce('sum', promises, options) : [];
      await compute(values, work, (index) => gradients[index]?.complete(values[index] as Float32Array));
      if (work.order === 'after') await context.allReduce('sum', values, options);
      await Promise.all(results);
    },
    problem() {
      if (work.order === 'computed') return undefined;
      const problems = values.map((value) => problemOf({ kind: 'all-reduce', rank, ranks }, value));
      return problems.find((problem) => problem !== undefined);
    },
    agree: (maxima) => void context.allReduceSync('max', maxima, { into: maxima }),
  };
}

/** A gradient that is still being computed. */
class Gradient {
  readonly promise: Promise<Float32Array>;
  complete!: (value: Float32Array) => void;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.complete = resolve;
    });
  }
}

/** Simulates a computation: time passes for each value, the last one first. The event loop runs between two values. */
async function compute(
  values: readonly Float32Array[],
  { isBusy, computeMillis }: Overlap,
  onComplete: (index: number) => void,
): Promise<void> {
  const total = values.reduce((sum, { length }) => sum + length, 0);
  const begin = performance.now();
  let done = 0;
  for (let index = values.length - 1; index >= 0; index--) {
    const { length } = values[index] as Float32Array;
    done += length;
    if (isBusy) {
      // Time that other work takes does not shorten the computation.
      const until = performance.now() + (computeMillis * length) / total;
      while (performance.now() < until);
      await new Promise((resolve) => setImmediate(resolve));
    } else {
      const ahead = begin + (computeMillis * done) / total - performance.now();
      if (ahead >= timerMillis) await new Promise((resolve) => setTimeout(resolve, ahead));
    }
    onComplete(index);
  }
}

import type { Tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import type { CallMemory, Trial } from '../trial.js';
import { callArrays, isAllocationAlone } from './call-arrays.js';
import { problemOf, writePattern } from './pattern.js';
import type { Subject } from './subject.js';

/** A replica's all-reduce of an ordinary array, or of a list of them, through its context. */
export function contextSubject(context: ReplicaContext, trial: Trial, memory: CallMemory): Subject {
  const { replicaIdInSyncGroup: rank, numReplicasInSync: ranks } = context;
  const values = trial.counts.map((length) => new Float32Array(length));
  const isSync = trial.form === 'sync';
  const arraysOf = callArrays(memory, trial.place, values, (value) => value.slice());
  let latest: readonly Float32Array[] = [];
  const keep = (result: Tensor | readonly Tensor[]) => {
    latest = arraysIn(result);
  };
  // Replicas that share a thread can only meet in async calls. Replicas in separate threads meet faster in sync calls.
  const canBlock = trial.form !== 'controller';
  const isList = values.length > 1;
  const number = new Float32Array(1);
  const intoNumber = { into: number };
  // Replicas that reduce arrays also wait for each other's allocations and garbage collections, so replicas that do
  // not reduce must meet as well.
  const meet = isSync
    ? () => void context.allReduceSync('max', number, intoNumber)
    : () => context.allReduce('max', number, intoNumber);
  return {
    isSync,
    rewrite() {
      for (const value of values) writePattern(value, rank);
    },
    call() {
      const { inputs, into } = arraysOf();
      // Keep the arrays until the next call, like results. Otherwise the compiler could remove the allocation.
      latest = into ?? inputs;
      if (isAllocationAlone(memory)) return meet();
      const value = isList ? inputs : (inputs[0] as Float32Array);
      const options = into && { into: isList ? into : (into[0] as Float32Array) };
      if (isSync) {
        const result = context.allReduceSync('sum', value, options);
        return into ? undefined : keep(result);
      }
      const result = context.allReduce('sum', value, options);
      return into ? result : result.then(keep);
    },
    problem() {
      if (isAllocationAlone(memory)) return undefined;
      const problems = latest.map((result) => problemOf({ kind: 'all-reduce', rank, ranks }, result));
      return problems.find((problem) => problem !== undefined);
    },
    agree: canBlock
      ? (maxima) => void context.allReduceSync('max', maxima, { into: maxima })
      : (maxima) => context.allReduce('max', maxima, { into: maxima }),
  };
}

function arraysIn(result: Tensor | readonly Tensor[]): Float32Array[] {
  return ('data' in result ? [result] : result).map(({ data }) => data as Float32Array);
}

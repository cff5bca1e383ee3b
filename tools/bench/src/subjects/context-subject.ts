import type { Tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import { type ContextMemory, elementsOf, type Trial } from '../trial.js';
import { problemOf, writePattern } from './pattern.js';
import type { Subject } from './subject.js';

/** A replica's all-reduce of an ordinary array through its context. */
export function contextSubject(context: ReplicaContext, trial: Trial, memory: ContextMemory): Subject {
  const { replicaIdInSyncGroup: rank, numReplicasInSync: ranks } = context;
  const values = new Float32Array(elementsOf(trial));
  let latest: Pick<Tensor, 'data'> = { data: values };
  const keep = (result: Tensor) => {
    latest = result;
  };
  const isSync = trial.form === 'sync';
  // Replicas that share a thread can only meet asynchronously; those that do not meet faster when they block.
  const canBlock = trial.form !== 'controller';
  return {
    isSync,
    rewrite: () => writePattern(values, rank),
    call() {
      if (memory === 'alone') {
        latest = { data: values.slice() };
        return undefined;
      }
      if (memory === 'result')
        return isSync ? keep(context.allReduceSync('sum', values)) : context.allReduce('sum', values).then(keep);
      // A copy allocates an array and touches all of it.
      const own = memory === 'new' ? values.slice() : values;
      latest = { data: own };
      return isSync ? context.allReduceSync('sum', own, { into: own }) : context.allReduce('sum', own, { into: own });
    },
    problem() {
      if (memory === 'alone') return undefined;
      return problemOf({ kind: 'all-reduce', rank, ranks }, latest.data as Float32Array);
    },
    agree: canBlock
      ? (maxima) => void context.allReduceSync('max', maxima, { into: maxima })
      : (maxima) => context.allReduce('max', maxima, { into: maxima }),
  };
}

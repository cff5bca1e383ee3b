import type { ReplicaContext } from '@coll/strategy';
import { elementsOf, type Trial } from '../trial.js';
import { problemOf, writePattern } from './pattern.js';
import type { Subject } from './subject.js';

/** A replica's all-reduce of an ordinary array, in place, through its context. */
export function contextSubject(context: ReplicaContext, trial: Trial): Subject {
  const { replicaIdInSyncGroup: rank, numReplicasInSync: ranks } = context;
  const values = new Float32Array(elementsOf(trial));
  const isSync = trial.form === 'sync';
  // Replicas that share a thread can only meet asynchronously; those that do not meet faster when they block.
  const canBlock = trial.form !== 'controller';
  return {
    isSync,
    rewrite: () => writePattern(values, rank),
    call: isSync
      ? () => void context.allReduceSync('sum', values, { into: values })
      : () => context.allReduce('sum', values, { into: values }),
    problem: () => problemOf({ kind: 'all-reduce', rank, ranks }, values),
    agree: canBlock
      ? (maxima) => void context.allReduceSync('max', maxima, { into: maxima })
      : (maxima) => context.allReduce('max', maxima, { into: maxima }),
  };
}

import { PerReplica } from '@coll/core';
import type { MirroredStrategy } from '@coll/strategy';
import { elementsOf, type Trial } from '../trial.js';
import { replica } from './idle-replica.js';
import type { Subject } from './subject.js';

/**
 * Successive runs of idle replicas. The argument is a number, or a batch per replica if it has more than
 * one element.
 */
export function runSubject(strategy: MirroredStrategy, trial: Trial): Subject {
  const elements = elementsOf(trial);
  const batch =
    elements === 1 ? 1 : new PerReplica(Array.from({ length: trial.ranks }, () => new Float32Array(elements)));
  const url = new URL('./idle-replica.ts', import.meta.url);
  const options = { args: [batch] } as const;
  const run =
    trial.form === 'controller'
      ? () => strategy.run(replica, options)
      : () => strategy.run<typeof import('./idle-replica.js')>(url, options);
  let latest: unknown;
  return {
    isSync: false,
    rewrite() {},
    async call() {
      latest = await run();
    },
    problem() {
      const results = strategy.experimentalLocalResults(latest);
      if (results.length === trial.ranks && results.every((result) => result === elements)) return undefined;
      return `the replicas returned ${results.join()}, not ${elements} each`;
    },
    agree() {},
  };
}

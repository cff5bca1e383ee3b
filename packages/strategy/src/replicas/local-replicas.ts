import type { CrossDeviceOps } from '@coll/core';
import { logRunNotes, ReplicaGroup, takeRunNote } from '@coll/core/internal';
import { runInReplica } from '../scope/contexts.js';
import type { RunOptions } from '../scope/run-options.js';
import type { ReplicaFunction, Strategy } from '../scope/strategy.js';
import { LocalReplicaContext } from './local-replica-context.js';
import { ReplicaScheduler } from './replica-scheduler.js';
import { shareVariables } from './replica-variables.js';

export interface LocalRun {
  readonly strategy: Strategy;
  readonly fn: ReplicaFunction<never>;
  readonly argsOf: (replica: number) => readonly unknown[];
  readonly options: RunOptions;
}

/**
 * Runs a function as every replica of this thread.
 * @throws the errors of `ReplicaScheduler.run`
 */
export async function runLocalReplicas({ strategy, fn, argsOf, options }: LocalRun): Promise<unknown[]> {
  const { workerDevices, firstReplica } = strategy.extended;
  const scheduler = new ReplicaScheduler(workerDevices.length, firstReplica);
  const { onReport } = options;
  const group = groupOf(strategy, await strategy.extended.replicaOps(), scheduler);
  const contexts = workerDevices.map(
    (_, index) => new LocalReplicaContext({ strategy, index, group, scheduler, onReport }),
  );
  shareVariables(contexts);
  const call = async (index: number) => {
    const context = contexts[index] as LocalReplicaContext;
    const result = await runInReplica(context, () => fn(context, ...(argsOf(index) as never)));
    await context.settle();
    return result;
  };
  const results = await scheduler.run(call, options.signal);
  logRunNotes(contexts.map(takeRunNote), firstReplica);
  return results;
}

function groupOf(strategy: Strategy, ops: CrossDeviceOps, scheduler: ReplicaScheduler): ReplicaGroup {
  const { workerDevices: devices, firstReplica, workers } = strategy.extended;
  // If a worker has only one replica, the group of its ops already connects it to those of other
  // workers.
  if (workers.size > 1 && devices.length === 1 && ops.replicaGroup) return ops.replicaGroup;
  return new ReplicaGroup({
    ops,
    size: strategy.numReplicasInSync,
    ids: devices.map((_, index) => firstReplica + index),
    devices,
    arrivals: scheduler.arrivals,
    fail: (error) => scheduler.fail(error),
  });
}

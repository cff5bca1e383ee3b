import { BlockingCalls } from './blocking-calls.js';
import { runInReplica } from './contexts.js';
import { LocalReplicaContext } from './local-replica-context.js';
import type { ReplicaFunction, RunOptions, Strategy } from './strategy.js';
import { Turns } from './turns.js';
import { shareVariables } from './variables/replica-variables.js';

export interface LocalRun {
  readonly strategy: Strategy;
  readonly fn: ReplicaFunction<never>;
  readonly argsOf: (replica: number) => readonly unknown[];
  readonly options: RunOptions;
}

/** Runs a function as all replicas in this thread. @throws as `Turns.run` */
export async function runLocalReplicas({ strategy, fn, argsOf, options }: LocalRun): Promise<unknown[]> {
  const { workerDevices, firstReplica, workers } = strategy.extended;
  const turns = new Turns(workerDevices.length, firstReplica);
  const { onReport } = options;
  const ops = workers.size > 1 ? await workers.deviceOps?.() : undefined;
  const blocking = workerDevices.length === 1 ? new BlockingCalls(strategy, ops) : undefined;
  const contexts = workerDevices.map(
    (_, place) => new LocalReplicaContext({ strategy, turns, place, onReport, blocking }),
  );
  shareVariables(contexts);
  const call = async (place: number) => {
    const context = contexts[place] as LocalReplicaContext;
    const result = await runInReplica(context, () => fn(context, ...(argsOf(place) as never)));
    await context.settle();
    return result;
  };
  return turns.run(call, options.signal);
}

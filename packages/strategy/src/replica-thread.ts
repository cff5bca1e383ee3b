import { parentPort, workerData } from 'node:worker_threads';
import {
  type CallOptions,
  CollError,
  type CrossDeviceOps,
  failThreadGroup,
  type IndexedSlices,
  type Plugin,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaGroup,
  type ReplicaValue,
  RuntimeError,
  reduceOpFrom,
  regroup,
  type Structure,
  selectReplica,
  type Tensor,
  type TensorLike,
  threadWorld,
  type Value,
} from '@coll/core';
import { requireReplica, runInMerge, runInReplica } from './contexts.js';
import { MirroredStrategy } from './mirrored-strategy.js';
import type { ReplicaContext } from './replica-context.js';
import type { ReplicaFunction, Strategy } from './strategy.js';
import {
  decode,
  encode,
  encodeError,
  type FromReplica,
  post,
  type ThreadStart,
  type ToReplica,
} from './thread-messages.js';

/** The entry of a replica's worker thread: loads the plug-in and the user's module, and runs the one with the other. */

const port = parentPort as NonNullable<typeof parentPort>;
const start = workerData as ThreadStart;

type MergeFunction = (strategy: Strategy, ...args: readonly unknown[]) => unknown;

class ThreadReplicaContext implements ReplicaContext {
  readonly strategy: Strategy;
  readonly numReplicasInSync = start.devices.length;
  readonly replicaIdInSyncGroup = start.replica;
  readonly devices = [start.devices[start.replica] as string];
  readonly #ops: CrossDeviceOps;
  readonly #merges: { fn: MergeFunction; resolve(value: unknown): void; reject(error: unknown): void }[] = [];

  constructor(strategy: Strategy, ops: CrossDeviceOps) {
    this.strategy = strategy;
    this.#ops = ops;
    port.on('message', (message: ToReplica) => {
      if (message.type === 'hold') void this.#hold(message.args);
      else this.#merges.shift()?.resolve(decode(message.value));
    });
  }

  allReduce(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Promise<Structure<Value>> {
    requireReplica(this, 'allReduce');
    return this.#ops.allReduce(reduceOpFrom(op), value, start.replica, options);
  }

  allReduceSync(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Structure<Value> {
    requireReplica(this, 'allReduceSync');
    return this.#ops.allReduceSync(reduceOpFrom(op), value, start.replica, options);
  }

  async allGather(
    value: Structure<TensorLike | IndexedSlices>,
    axis: number,
    options?: CallOptions,
  ): Promise<Structure<Tensor>> {
    requireReplica(this, 'allGather');
    return this.#group('allGather').allGather(value, axis, options);
  }

  async broadcast(value: Structure<TensorLike>, root = 0, options?: ReplicaCallOptions): Promise<Structure<Tensor>> {
    requireReplica(this, 'broadcast');
    return this.#group('broadcast').broadcast(value, root, options);
  }

  broadcastSync(value: Structure<TensorLike>, root = 0, options?: ReplicaCallOptions): Structure<Tensor> {
    requireReplica(this, 'broadcastSync');
    return this.#group('broadcastSync').broadcastSync(value, root, options);
  }

  async mergeCall<Args extends readonly unknown[], Result>(
    fn: (strategy: Strategy, ...args: Args) => Result | Promise<Result>,
    args?: Args,
  ): Promise<Result> {
    requireReplica(this, 'mergeCall');
    say({ type: 'merge', args: encode(args ?? []) }, 'an argument of a merge call');
    return new Promise<Result>((resolve, reject) => {
      this.#merges.push({ fn: fn as unknown as MergeFunction, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  report(value: unknown): void {
    say({ type: 'report', value: encode(value) }, 'a report');
  }

  /** Replica 0 runs its function for all. */
  async #hold(argsOfAll: readonly unknown[]): Promise<void> {
    const merge = this.#merges[0];
    try {
      const args = regroup(argsOfAll.map(decode) as Structure<unknown>[]) as readonly unknown[];
      const result = (await runInMerge(this.strategy, () => merge?.fn(this.strategy, ...args))) as Structure<unknown>;
      const results = start.devices.map((_, replica) => encode(selectReplica(replica, result)));
      say({ type: 'merged', results }, 'the result of a merge call');
    } catch (error) {
      this.#merges.shift()?.reject(error);
    }
  }

  #group(method: string): ReplicaGroup {
    if (this.#ops.replicaGroup) return this.#ops.replicaGroup;
    throw new RuntimeError('ERR_COLL_CONTEXT', `${this.#ops.name} has no ${method} from inside a replica`, {
      operation: method,
    });
  }
}

function say(message: FromReplica, what: string): void {
  post(port, message, what);
}

async function loadPlugin({ name, module }: ThreadStart['plugin']): Promise<Plugin<never>> {
  const exported = Object.values((await import(module)) as Record<string, unknown>);
  const found = exported.find(
    (value) =>
      typeof value === 'object' && value !== null && (value as Partial<Plugin>).name === name && 'create' in value,
  );
  if (found) return found as Plugin<never>;
  throw new CollError(
    'ERR_COLL_MODULE',
    `${module} exports no plug-in called "${name}"; a plug-in's module is the one that exports it: module: import.meta.url`,
  );
}

async function loadReplica({ module, exportName }: ThreadStart): Promise<ReplicaFunction> {
  const exported = (await import(module)) as Record<string, unknown>;
  const wanted = exportName === undefined ? ['default', 'replica'] : [exportName];
  const found = wanted.map((name) => exported[name]).find((value) => typeof value === 'function');
  if (found) return found as ReplicaFunction;
  throw new CollError(
    'ERR_COLL_MODULE',
    `${module} exports no function called ${wanted.join(' or ')}: export default async function (context, ...args)`,
  );
}

async function main(): Promise<void> {
  try {
    const plugin = await loadPlugin(start.plugin);
    const options = start.plugin.options as never;
    const ops = await plugin.create(options, threadWorld(start.group, start.replica, start.devices));
    const strategy = new MirroredStrategy({ devices: start.devices, crossDeviceOps: { name: plugin, options } });
    const context = new ThreadReplicaContext(strategy, ops);
    const fn = await loadReplica(start);
    const result = await runInReplica(context, () => fn(context, ...(decode(start.args) as readonly unknown[])));
    say({ type: 'result', value: encode(result) }, 'the result of a replica');
    await ops.close();
  } catch (error) {
    // Told first, so that it is heard before what others suffer from it.
    say({ type: 'error', error: encodeError(error) }, 'an error');
    failThreadGroup(
      start.group,
      start.replica,
      `replica ${start.replica} failed: ${error instanceof Error ? error.message : String(error)}`,
    );
  } finally {
    port.close();
  }
}

void main();

import {
  asTensor,
  type CallOptions,
  copyToDevice,
  flatten,
  IndexedSlices,
  PerReplica,
  packLike,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  RuntimeError,
  reduceOpFrom,
  regroup,
  type Structure,
  selectReplica,
  type Tensor,
  type TensorLike,
  type Value,
} from '@coll/core';
import { requireReplica, runInMerge, runInReplica } from './contexts.js';
import type { ReplicaContext } from './replica-context.js';
import { annotate } from './replica-error.js';
import type { ReplicaFunction, Strategy } from './strategy.js';

/** Something that all replicas do together: replica 0's `hold` gets everybody's input and gives each its output. */
interface Joint {
  readonly name: string;
  readonly input: unknown;
  hold(inputs: readonly unknown[]): Promise<readonly unknown[]>;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

/** One replica function on its way. */
interface Replica {
  readonly id: number;
  readonly waiting: Joint[];
  /** Settles when the function has returned or thrown. */
  outcome: Promise<void>;
  ended: boolean;
  result?: unknown;
  error?: unknown;
  /** Wakes who waits for this replica to suspend. */
  onSuspend: () => void;
}

export interface LocalRun {
  readonly strategy: Strategy;
  readonly devices: readonly string[];
  readonly onReport: ((replica: number, value: unknown) => void) | undefined;
}

/**
 * Runs a function as all replicas in this thread, one after the other: replica 0 until it waits for the others or ends, then
 * replica 1, and so on; what they wait for is done once all have come to it. So runs are reproducible.
 * @throws the error of the first replica that fails, with its number; RuntimeError where replicas differ in what they wait for
 */
export async function runLocalReplicas(
  run: LocalRun,
  fn: ReplicaFunction<never>,
  argsOf: (replica: number) => readonly unknown[],
): Promise<unknown[]> {
  const replicas: Replica[] = [];
  try {
    for (const id of run.devices.keys()) {
      const replica = start(run, id, () => fn(contextOf(run, replica), ...(argsOf(id) as never)));
      replicas.push(replica);
      await untilQuiet(replica);
    }
    while (replicas.some(({ waiting }) => waiting.length > 0)) await holdNext(replicas);
  } catch (error) {
    abandon(replicas, error);
    throw error;
  }
  return replicas.map(({ result }) => result);
}

function start(run: LocalRun, id: number, call: () => unknown): Replica {
  const replica: Replica = { id, waiting: [], outcome: Promise.resolve(), ended: false, onSuspend: () => {} };
  // Deferred by a tick, so that the call finds its replica complete.
  replica.outcome = Promise.resolve()
    .then(() => runInReplica(contextOf(run, replica), call))
    .then(
      (result) => {
        replica.result = result;
      },
      (error: unknown) => {
        replica.error = annotate(error, id);
      },
    )
    .finally(() => {
      replica.ended = true;
    });
  return replica;
}

/** Waits until a replica has ended or waits for the others. @throws its error */
async function untilQuiet(replica: Replica): Promise<void> {
  if (replica.waiting.length === 0 && !replica.ended) {
    await Promise.race([
      replica.outcome,
      new Promise<void>((resolve) => {
        replica.onSuspend = resolve;
      }),
    ]);
  }
  if (replica.error !== undefined) throw replica.error;
}

async function holdNext(replicas: readonly Replica[]): Promise<void> {
  const gone = replicas.find(({ waiting }) => waiting.length === 0);
  if (gone) {
    const others = replicas
      .filter(({ waiting }) => waiting.length > 0)
      .map(({ id, waiting }) => `replica ${id} waits in ${waiting[0]?.name}`);
    const told = `replicas made a different number of merge_call: replica ${gone.id} has ended while ${others.join(', ')}`;
    throw new RuntimeError('ERR_COLL_MERGE', told, { rank: gone.id, operation: 'mergeCall' });
  }
  const joints = replicas.map(({ waiting }) => waiting.shift() as Joint);
  const [first] = joints as [Joint];
  const odd = joints.findIndex(({ name }) => name !== first.name);
  if (odd >= 0) {
    const told = `replicas do different things together: replica 0 calls ${first.name}, replica ${odd} ${joints[odd]?.name}`;
    const error = new RuntimeError('ERR_COLL_MERGE', told, { rank: odd, operation: first.name });
    for (const joint of joints) joint.reject(error);
    throw error;
  }
  try {
    const outputs = await first.hold(joints.map(({ input }) => input));
    for (const replica of replicas) {
      joints[replica.id]?.resolve(outputs[replica.id]);
      // What follows the resolved promise runs before the next replica goes on.
      await new Promise((resolve) => setImmediate(resolve));
      await untilQuiet(replica);
    }
  } catch (error) {
    for (const joint of joints) joint.reject(error);
    throw error;
  }
}

function abandon(replicas: readonly Replica[], error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  for (const { waiting, id } of replicas) {
    for (const joint of waiting)
      joint.reject(
        new RuntimeError('ERR_COLL_PEER_FAILED', `${joint.name}: another replica failed: ${message}`, {
          rank: id,
          operation: joint.name,
        }),
      );
  }
}

const contexts = new WeakMap<Replica, ReplicaContext>();

function contextOf(run: LocalRun, replica: Replica): ReplicaContext {
  const known = contexts.get(replica);
  if (known) return known;
  const made = new LocalReplicaContext(run, replica);
  contexts.set(replica, made);
  return made;
}

/** A replica among others of the same thread: what it does with them goes through the run, which holds it once for all. */
class LocalReplicaContext implements ReplicaContext {
  readonly strategy: Strategy;
  readonly numReplicasInSync: number;
  readonly replicaIdInSyncGroup: number;
  readonly devices: readonly string[];
  readonly #run: LocalRun;
  readonly #replica: Replica;

  constructor(run: LocalRun, replica: Replica) {
    this.strategy = run.strategy;
    this.numReplicasInSync = run.devices.length;
    this.replicaIdInSyncGroup = replica.id;
    this.devices = [run.devices[replica.id] as string];
    this.#run = run;
    this.#replica = replica;
  }

  async mergeCall<Args extends readonly unknown[], Result>(
    fn: (strategy: Strategy, ...args: Args) => Result | Promise<Result>,
    args?: Args,
  ): Promise<Result> {
    return this.#together('mergeCall', args ?? [], async (inputs) => {
      const regrouped = regroup(inputs as readonly Structure<unknown>[]) as unknown as Args;
      const result = (await runInMerge(this.strategy, () => fn(this.strategy, ...regrouped))) as Structure<unknown>;
      return inputs.map((_, replica) => selectReplica(replica, result));
    });
  }

  async allReduce(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Promise<Structure<Value>> {
    const reduceOp = reduceOpFrom(op);
    const { into, ...call } = (options ?? {}) as ReplicaCallOptions & { into?: Structure<TensorLike> };
    const leaves = this.#placed(value);
    const results = await this.#together(`all-reduce ${reduceOp}`, leaves, async (inputs) => {
      const perReplica = valuesOf(inputs as readonly (readonly Value[])[]);
      const pairs = perReplica.map((item) => [item, item] as const);
      const reduced = await runInMerge(this.strategy, () =>
        this.strategy.extended.batchReduceTo(reduceOp, pairs, into === undefined ? options : call),
      );
      return inputs.map((_, replica) => reduced.map((item) => selectReplica(replica, item)));
    });
    return packLike(value, writeInto(results as readonly Value[], into));
  }

  async allGather(
    value: Structure<TensorLike | IndexedSlices>,
    axis: number,
    options?: CallOptions,
  ): Promise<Structure<Tensor>> {
    const leaves = this.#placed(value);
    const results = await this.#together('all-gather', leaves, async (inputs) => {
      const { extended } = this.strategy;
      const perReplica = valuesOf(inputs as readonly (readonly Value[])[]);
      const gathered = perReplica.map((item) =>
        runInMerge(this.strategy, () => extended.gatherTo(item, item, axis, options)),
      );
      const done = await Promise.all(gathered);
      return inputs.map((_, replica) => done.map((item) => selectReplica(replica, item)));
    });
    return packLike(value, results as readonly Tensor[]);
  }

  async broadcast(value: Structure<TensorLike>, root = 0, options?: ReplicaCallOptions): Promise<Structure<Tensor>> {
    const leaves = this.#placed(value);
    const into = (options as { into?: Structure<TensorLike> } | undefined)?.into;
    const results = await this.#together(`broadcast from replica ${root}`, leaves, async (inputs) => {
      const source = inputs[root] as readonly Value[];
      return inputs.map((_, replica) => source.map((item) => copyToDevice(item, this.#run.devices[replica] as string)));
    });
    return packLike(value, writeInto(results as readonly Value[], into) as Tensor[]);
  }

  allReduceSync(): never {
    return refuseBlocking('allReduceSync', 'allReduce');
  }

  broadcastSync(): never {
    return refuseBlocking('broadcastSync', 'broadcast');
  }

  report(value: unknown): void {
    this.#run.onReport?.(this.#replica.id, value);
  }

  /** Suspends this replica until all have come here; the first one's `hold` is the one that is run. */
  #together<Output>(
    name: string,
    input: unknown,
    hold: (inputs: readonly unknown[]) => Promise<readonly unknown[]>,
  ): Promise<Output> {
    requireReplica(this, name);
    const output = new Promise<Output>((resolve, reject) => {
      this.#replica.waiting.push({ name, input, hold, resolve: resolve as (output: unknown) => void, reject });
      this.#replica.onSuspend();
    });
    // A replica may end without awaiting this; the run then reports what went wrong, not the process.
    output.catch(() => {});
    return output;
  }

  #placed(value: Structure<TensorLike | IndexedSlices>): Value[] {
    const [device] = this.devices as readonly [string];
    return flatten(value).map((leaf) => {
      if (leaf instanceof IndexedSlices)
        return new IndexedSlices({ ...leaf.values, device }, leaf.indices, leaf.denseShape);
      return { ...asTensor(leaf), device };
    });
  }
}

/** One `PerReplica` for each value, from one list of values a replica. */
function valuesOf(lists: readonly (readonly Value[])[]): PerReplica<Value>[] {
  const odd = lists.findIndex((list) => list.length !== lists[0]?.length);
  if (odd >= 0) {
    const told = `replica 0 hands in ${lists[0]?.length} values, replica ${odd} ${lists[odd]?.length}; all must hand in the same structure`;
    throw new RuntimeError('ERR_COLL_MISMATCH', told, { rank: odd });
  }
  return (lists[0] ?? []).map((_, index) => new PerReplica(lists.map((list) => list[index] as Value)));
}

function writeInto(results: readonly Value[], into: Structure<TensorLike> | undefined): readonly Value[] {
  if (into === undefined) return results;
  const targets = flatten(into).map((leaf) => asTensor(leaf, 'into'));
  return results.map((result, index) => {
    const target = targets[index];
    if (!target || result instanceof IndexedSlices) return result;
    (target.data as Float32Array).set(result.data as Float32Array);
    return target;
  });
}

function refuseBlocking(method: string, instead: string): never {
  const cure = `await ${instead}(...), or run the replicas in worker threads: strategy.run(new URL('./replica.js', import.meta.url))`;
  throw new RuntimeError('ERR_COLL_CONTEXT', `${method} would block the thread that all replicas share: ${cure}`, {
    operation: method,
  });
}

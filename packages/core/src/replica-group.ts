import { type CallOptions, type ResolvedOptions, resolveCallOptions } from './call-options.js';
import type { CollectiveOp } from './collective.js';
import type { Communicator, RunOptions } from './communicator.js';
import { PerReplica } from './distributed-values.js';
import { AssertionError, NotImplementedError, OutOfRangeError, RuntimeError } from './errors.js';
import { IndexedSlices } from './indexed-slices.js';
import { Meeting } from './meeting.js';
import type { World } from './plugin.js';
import { type ReduceOp, validateReduceOp } from './reduce-op.js';
import { ReplicaCollectives } from './replica-collectives.js';
import type { Algorithm } from './schedule/schedule.js';
import { copyToDevice, type Value } from './sparse.js';
import { flatten, packLike, type Structure } from './structure.js';
import { asTensor, copyElements, type Tensor, type TensorLike } from './tensor.js';

/** What replicas hand in: tensors and indexed slices, in any structure that is the same on all of them. */
export type ReplicaValue = Structure<TensorLike | IndexedSlices>;

export type ReplicaCallOptions = CallOptions & {
  /** Where dense results are written, in the structure of the values; may be the values themselves. Default: new memory. */
  readonly into?: Structure<TensorLike> | undefined;
};

/** How all replicas' values are reduced where one thread holds them all; results are one list of values a replica. */
export type ReduceTogether = (
  op: ReduceOp,
  values: readonly PerReplica<Value>[],
  call: ResolvedOptions,
) => Promise<readonly (readonly Value[])[]>;

/** Collectives from inside the replicas of a world: each hands in its own value and gets its own result. */
export interface ReplicaGroup {
  readonly engine: string;
  allReduce(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>>;
  allReduceSync(op: ReduceOp, value: ReplicaValue, replicaId: number, options?: ReplicaCallOptions): Structure<Value>;
  allGather(value: ReplicaValue, axis: number, options?: CallOptions): Promise<Structure<Tensor>>;
  broadcast(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Promise<Structure<Tensor>>;
  broadcastSync(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Structure<Tensor>;
  close(): Promise<void>;
}

/** One replica here, the others elsewhere: its communicator meets theirs. */
export class RemoteReplicaGroup implements ReplicaGroup {
  readonly engine: string;
  readonly #replica: number;
  readonly #communicator: Communicator;
  readonly #collectives: ReplicaCollectives;

  constructor(world: World, algorithm: Algorithm) {
    this.engine = world.engine;
    this.#replica = world.localRanks[0] as number;
    this.#communicator = world.communicator(algorithm);
    this.#collectives = new ReplicaCollectives(this.#communicator);
  }

  async allReduce(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>> {
    requireLocal(replicaId, [this.#replica]);
    const call = prepare(op, value, options);
    return packLike(
      value,
      await this.#collectives.run(this.#collectives.allReduce(collectiveOp(op), call.values, call), call.run),
    );
  }

  allReduceSync(op: ReduceOp, value: ReplicaValue, replicaId: number, options?: ReplicaCallOptions): Structure<Value> {
    requireLocal(replicaId, [this.#replica]);
    const call = prepare(op, value, options);
    return packLike(
      value,
      this.#collectives.runSync(this.#collectives.allReduce(collectiveOp(op), call.values, call), call.run),
    );
  }

  async allGather(value: ReplicaValue, axis: number, options?: CallOptions): Promise<Structure<Tensor>> {
    const { values, run } = prepareDense(value, options);
    const results: Tensor[] = [];
    for (const tensor of values)
      results.push(await this.#collectives.run(this.#collectives.allGather(tensor, axis), run));
    return packLike(value, results);
  }

  async broadcast(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Promise<Structure<Tensor>> {
    const { values, into, run } = prepareDense(value, options);
    return packLike(value, await this.#collectives.run(this.#collectives.broadcast(values, root, into), run));
  }

  broadcastSync(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Structure<Tensor> {
    const { values, into, run } = prepareDense(value, options);
    return packLike(value, this.#collectives.runSync(this.#collectives.broadcast(values, root, into), run));
  }

  close(): Promise<void> {
    return this.#communicator.close();
  }
}

/** All replicas here, as concurrent calls of one thread, which meet and are reduced together. */
export class LocalReplicaGroup implements ReplicaGroup {
  readonly engine: string;
  readonly #world: World;
  readonly #meeting: Meeting<LocalCall, readonly Value[]>;

  constructor(world: World, reduceTogether: ReduceTogether) {
    this.engine = world.engine;
    this.#world = world;
    this.#meeting = new Meeting(world.devices.length, (calls) => this.#reduce(calls, reduceTogether));
  }

  async allReduce(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>> {
    requireLocal(replicaId, this.#world.localRanks);
    const call = prepare(op, value, options);
    const results = await this.#meeting.join(replicaId, { ...call, op });
    return packLike(value, call.into ? writeInto(results, call.into) : results);
  }

  allReduceSync(): never {
    return refuseShared('allReduceSync');
  }

  allGather(): never {
    return refuseShared('allGather');
  }

  broadcast(): never {
    return refuseShared('broadcast');
  }

  broadcastSync(): never {
    return refuseShared('broadcastSync');
  }

  async close(): Promise<void> {
    this.#meeting.fail(
      new RuntimeError(
        'ERR_COLL_CLOSED',
        'all-reduce: these ops were closed while replicas were waiting for each other',
      ),
    );
  }

  async #reduce(calls: readonly LocalCall[], reduceTogether: ReduceTogether): Promise<readonly (readonly Value[])[]> {
    const [first] = calls as readonly [LocalCall];
    const odd = calls.findIndex(({ op, values }) => op !== first.op || values.length !== first.values.length);
    if (odd >= 0) {
      const told = `replica 0 reduces ${first.values.length} values by ${first.op}, replica ${odd} ${calls[odd]?.values.length} by ${calls[odd]?.op}`;
      throw new AssertionError('ERR_COLL_MISMATCH', `all-reduce: ${told}; all replicas must make the same call`, {
        rank: odd,
        operation: 'all-reduce',
      });
    }
    const placed = first.values.map((_, index) => {
      return new PerReplica(
        calls.map(({ values }, replica) => placedOn(values[index] as Value, this.#world.devices[replica] as string)),
      );
    });
    return reduceTogether(first.op, placed, first.resolved);
  }
}

interface PreparedCall {
  readonly values: readonly Value[];
  readonly into: readonly Tensor[] | undefined;
  readonly bytesPerPack: number;
  readonly run: RunOptions;
  readonly resolved: ResolvedOptions;
}

interface LocalCall extends PreparedCall {
  readonly op: ReduceOp;
}

function prepare(op: ReduceOp, value: ReplicaValue, options: ReplicaCallOptions | undefined): PreparedCall {
  const into = options && 'into' in options ? options.into : undefined;
  const resolved = resolveCallOptions(into === undefined ? options : { ...options, into: undefined });
  validateReduceOp(op);
  return {
    values: flatten(value).map((leaf) => (leaf instanceof IndexedSlices ? leaf : asTensor(leaf))),
    into: into === undefined ? undefined : flatten(into).map((leaf) => asTensor(leaf, 'into')),
    bytesPerPack: resolved.options.bytesPerPack,
    run: { timeoutSeconds: resolved.options.timeoutSeconds, ...(resolved.signal ? { signal: resolved.signal } : {}) },
    resolved,
  };
}

function prepareDense(value: ReplicaValue, options: ReplicaCallOptions | undefined) {
  const call = prepare('SUM', value, options);
  if (call.values.some((item) => item instanceof IndexedSlices)) {
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      'indexed slices can be reduced, but not gathered or broadcast between replicas',
    );
  }
  return { ...call, values: call.values as readonly Tensor[] };
}

function collectiveOp(op: ReduceOp): CollectiveOp {
  return op.toLowerCase() as CollectiveOp;
}

function requireLocal(replicaId: number, here: readonly number[]): void {
  if (here.includes(replicaId)) return;
  throw new OutOfRangeError(
    `all-reduce: replica ${replicaId} does not live here, where replica ${here.join(', ')} does`,
    { operation: 'all-reduce' },
  );
}

function refuseShared(operation: string): never {
  const cure =
    "run the replicas in worker threads (strategy.run with a module), or use the replica context's asynchronous call";
  throw new RuntimeError('ERR_COLL_CONTEXT', `${operation} would block the thread that all replicas share: ${cure}`, {
    operation,
  });
}

function placedOn(value: Value, device: string): Value {
  if (value.device !== '') return value;
  return value instanceof IndexedSlices ? (copyToDevice(value, device) as IndexedSlices) : { ...value, device };
}

function writeInto(results: readonly Value[], into: readonly Tensor[]): Value[] {
  let next = 0;
  return results.map((result) => {
    if (result instanceof IndexedSlices) return result;
    const target = into[next++] as Tensor;
    copyElements(target.data, result.data);
    return target;
  });
}

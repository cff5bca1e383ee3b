import {
  type CallOptions,
  type Communicator,
  CrossDeviceOps,
  type Destinations,
  type DistributedValues,
  type IndexedSlices,
  type PossiblyMirrored,
  type ProcessGroup,
  type ReadyPair,
  type ReduceOp,
  type ReplicaGroup,
  type ResolvedOptions,
  type Tensor,
  type Value,
} from '@coll/core';
import { bySparsity, RankNames, resolveCallOptions } from '@coll/core/internal';
import { combine, concatAlong, concatenateSlices, type Purpose } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';

export interface GatheringOptions {
  readonly group: ProcessGroup;
  /** Number of devices per member. For the caller, each device is a rank. */
  readonly devices: number;
  readonly algorithm: Algorithm;
  /** Opens a communicator of the group, whose error messages use `names` for the members. */
  connect(names: readonly string[]): Communicator;
}

/**
 * Executes every operation except all-reduces, for values with components on several workers. Every
 * worker receives the components of all workers, in rank order, and combines or concatenates them
 * in that order, like a reduction to one device in a single process.
 */
export class GatheringOps extends CrossDeviceOps {
  readonly name = 'gathering';
  readonly #group: ProcessGroup;
  /** The communicator across the workers. */
  readonly communicator: Communicator;
  readonly #names: RankNames;
  /** Names of this worker's components in error messages. */
  readonly #own: RankNames;

  constructor({ group, devices, algorithm, connect }: GatheringOptions) {
    const names = RankNames.ofWorkers(group.size, devices);
    const communicator = connect(names.names);
    super(
      {
        devices: Array.from({ length: group.size }, (_, rank) => `/job:worker/task:${rank}/device:CPU:0`),
        localRanks: [group.rank],
        engine: 'native',
        communicator: () => communicator,
      },
      // All components count equally, so a mean is divided once, by the number of all components.
      { algorithm, valuesEach: devices },
    );
    this.#group = group;
    this.communicator = communicator;
    this.#names = names;
    this.#own = RankNames.ofWorker(group.rank, devices);
  }

  protected override get workerCount(): number {
    return this.#group.size;
  }

  protected override async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    return (await this.batchReduceImplementation(op, [[value, destinations]], call))[0] as PossiblyMirrored;
  }

  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const sums = await bySparsity<DistributedValues<Value>, Value>(
      pairs.map(([value]) => value),
      (dense) => this.#combineDense(op, dense as readonly DistributedValues<Tensor>[], call),
      (sparse) => this.#joinSparse(op, sparse as readonly DistributedValues<IndexedSlices>[], call),
    );
    return Promise.all(pairs.map(([, to], index) => this.placeResult(sums[index] as Value, to, call)));
  }

  protected override async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    const gathered = await this.#gather([this.#own.within(() => concatAlong(value.values, axis))], axis, call);
    return (await this.placeResult(gathered[0] as Tensor, destinations, call)) as PossiblyMirrored<Tensor>;
  }

  /** Joins the bytes of all workers, in rank order. Matches no call of a program. */
  async exchange(bytes: Tensor, options: CallOptions): Promise<Tensor> {
    const [all] = await this.#gather([bytes], 0, resolveCallOptions(options), 'setup');
    return all as Tensor;
  }

  /** Copies the values of worker `worker` to all workers. */
  async broadcastAcross(values: readonly Tensor[], worker: number, call: ResolvedOptions): Promise<readonly Tensor[]> {
    const group = this.replicaGroup as ReplicaGroup;
    const copies = group.run(group.broadcastCall([...values], worker, this.#group.rank, ownPart(call)));
    return (await copies.catch(this.#retell)) as readonly Tensor[];
  }

  async #combineDense(
    op: ReduceOp,
    values: readonly DistributedValues<Tensor>[],
    call: ResolvedOptions,
  ): Promise<Tensor[]> {
    const stacked = values.map(({ values: own }) => concatAlong(own.map(alone), 0));
    const gathered = await this.#gather(stacked, 0, call);
    return gathered.map((all) => combine(op.toLowerCase() as Lowercase<ReduceOp>, unstacked(all)));
  }

  async #joinSparse(
    op: ReduceOp,
    values: readonly DistributedValues<IndexedSlices>[],
    call: ResolvedOptions,
  ): Promise<Value[]> {
    const own = values.map(({ values: slices }) => concatenateSlices(slices));
    const joining = this.allReduce(op, own, this.#group.rank, ownPart(call));
    return (await joining.catch(this.#retell)) as Value[];
  }

  async #gather(
    values: readonly Tensor[],
    axis: number,
    call: ResolvedOptions,
    purpose?: Purpose,
  ): Promise<readonly Tensor[]> {
    const group = this.replicaGroup as ReplicaGroup;
    const made = group.gatherCall([...values], axis, this.#group.rank, ownPart(call));
    const gathered = group.run(purpose ? group.ownCall(purpose, made) : made);
    return (await gathered.catch(this.#retell)) as readonly Tensor[];
  }

  readonly #retell = (error: unknown): never => {
    throw this.#names.translated(error);
  };
}

/**
 * The options for the part of a call that is executed within this worker. They lack `sharedResult`,
 * because workers share no memory.
 */
function ownPart({ options, signal, turn }: ResolvedOptions) {
  return { options, signal, turn };
}

/** Returns the tensor with an additional first dimension of size 1. */
function alone(tensor: Tensor): Tensor {
  return { ...tensor, shape: [1, ...tensor.shape] };
}

/** Returns the rows of a tensor as tensors that use the same memory. */
function unstacked({ data, dtype, shape: [rows = 0, ...shape], device }: Tensor): Tensor[] {
  const length = data.length / rows;
  return Array.from({ length: rows }, (_, row) => ({
    data: data.subarray(row * length, (row + 1) * length),
    dtype,
    shape,
    device,
  }));
}

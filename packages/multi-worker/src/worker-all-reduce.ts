import {
  AllReduceOps,
  type AllReduceSetup,
  type CallOptions,
  type Communicator,
  type Destinations,
  DeviceSpec,
  DistributedValues,
  densify,
  type Explanation,
  getDevicesFrom,
  IndexedSlices,
  PerReplica,
  type PossiblyMirrored,
  type ProcessGroup,
  type ReadyPair,
  type ReduceOp,
  type ResolvedOptions,
  type Tensor,
  tensor,
  type Value,
  ValueError,
  type World,
} from '@coll/core';
import { bySparsity, optionsAt, partOf, RankNames } from '@coll/core/internal';
import { copyToDevice, devicesMatch, mirror, processWorld, sameDevice, viewOnDevice } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { autoAlgorithm, connectGroup } from './auto-communicator.js';
import { GatheringOps } from './gathering-ops.js';
import { GroupCommunicator } from './group-communicator.js';

/** The connection of this worker to the other workers. Each worker is a process. */
export interface OtherWorkers {
  /** A group of two or more processes, one per worker. */
  readonly group: ProcessGroup;
  /**
   * The devices of this worker; values have a component on each. All workers have equally many
   * devices.
   */
  readonly devices: readonly string[];
  /**
   * Opens a communicator of the ranks of all workers; `engine` connects the ranks of this worker.
   */
  connect(engine: Communicator): Communicator;
  /** The algorithm for gathers and sparse values. Default: the fastest for the size. */
  readonly gathering?: Algorithm;
  /**
   * Whether the communicator keeps the order of concurrent collectives. If not, each collective
   * waits for the previous one.
   */
  readonly keepsOrder: boolean;
  /** A number that must be equal on all members. Default: 0. */
  readonly groupKey?: number;
  /** Called for each collective, to count it. */
  count?(): void;
}

/** Options of an all-reduce, and the other workers if there are any. */
export interface WorkerSetup extends Omit<AllReduceSetup, 'fallback'> {
  /**
   * The connection to the other workers; undefined if all components of a value are in this
   * process.
   */
  readonly others?: OtherWorkers | undefined;
}

/**
 * All-reduce over the devices of one worker or of several workers. If there are several, each
 * worker passes the components of its own devices. All workers make the same calls in the same
 * order, and get the same bits. Operations other than all-reduces then use `GatheringOps`.
 */
export abstract class WorkerAllReduce extends AllReduceOps {
  readonly #others: OtherWorkers | undefined;
  readonly #gathering: GatheringOps | undefined;

  /**
   * @throws ValueError if there are other workers and the replicas of `world` are not all in this
   * thread; the errors of `AllReduceOps`
   */
  constructor({ others, world, ...setup }: WorkerSetup) {
    const gathering = others && gatheringAmong(others);
    super({
      ...setup,
      ...(others ? { communicator: (size, engine) => wrapped(setup, size, joined(others, engine)) } : {}),
      world: others ? worldAmong(others, world) : world,
      fallback: gathering ?? new ReductionToOneDevice(),
    });
    this.#others = others;
    this.#gathering = gathering;
  }

  protected override get workerCount(): number {
    return this.#others?.group.size ?? 1;
  }

  protected override get ordering(): Communicator | undefined {
    return this.#gathering?.communicator;
  }

  protected override inReplicaNumbers<Result>(call: () => Result): Result {
    if (!this.#others) return call();
    const { group, devices } = this.#others;
    return RankNames.ofWorker(group.rank, devices.length).within(call);
  }

  /** Also reports whether a library chooses the algorithms across workers, whichever were requested. */
  override explain(): Explanation {
    const explanation = super.explain();
    const { executesBy } = this.#others?.group ?? {};
    if (executesBy === undefined) return explanation;
    const note = `across workers, ${executesBy} chooses the algorithms itself`;
    return { ...explanation, notes: [...explanation.notes, note] };
  }

  /** Sends a line of text to all workers, and returns the lines of all workers in rank order. */
  protected async gatherLines(line: string, options: CallOptions): Promise<readonly string[]> {
    if (!this.#gathering) return [line];
    const text = tensor(new TextEncoder().encode(`${line}\n`), { device: 'cpu:0' });
    const { data } = await this.#gathering.exchange(text, options);
    return new TextDecoder().decode(data).split('\n').slice(0, -1);
  }

  /** Reduces on the devices of the value, then copies the result to the other destinations. */
  protected override async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    if (!this.#others) return super.reduceImplementation(op, value, destinations, call);
    if (devicesMatch(value, destinations)) return this.#reduceAcross(op, [value], call).then(onlyOne);
    const { targets: _, ...own } = call;
    return placed(onlyOne(await this.#reduceAcross(op, [value], own)), destinations, call);
  }

  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const isTogether = pairs.every(([value, to]) => devicesMatch(value, to));
    if (!this.#others || !isTogether) return super.batchReduceImplementation(op, pairs, call);
    return this.#reduceAcross(
      op,
      pairs.map(([value]) => value),
      call,
    );
  }

  protected override async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    if (!this.#gathering) return super.gatherImplementation(value, destinations, axis, call);
    this.#requireComponents([value]);
    return this.#gathering.gather(value, destinations, axis, partOf(call));
  }

  /**
   * The worker of replica `root` sends its values to the other workers, and each copies them to its
   * devices.
   */
  protected override async broadcastValues(
    inputs: readonly (readonly Tensor[])[],
    root: number,
    like: readonly PerReplica<Value>[],
    call: ResolvedOptions,
  ): Promise<readonly PossiblyMirrored[]> {
    if (!this.#others || !this.#gathering) return super.broadcastValues(inputs, root, like, call);
    const { group, devices } = this.#others;
    const worker = Math.floor(root / devices.length);
    // If the root is not local, any value of its shapes serves as a placeholder.
    const own = inputs[root - group.rank * devices.length] ?? inputs[0] ?? [];
    const ofRoot = await this.#gathering.broadcastAcross(own, worker, call);
    return this.placeCopies(ofRoot, like, call);
  }

  /** Combines dense values with those of the other workers, on the devices of the values. */
  protected reduceDense(op: ReduceOp, pairs: readonly ReadyPair[], call: ResolvedOptions): Promise<PossiblyMirrored[]> {
    return super.batchReduceImplementation(op, pairs, call);
  }

  /** Reduces dense values in packs first, then sparse values. */
  async #reduceAcross(
    op: ReduceOp,
    values: readonly DistributedValues<Value>[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    this.#requireComponents(values);
    const onItself = (value: DistributedValues<Value>): ReadyPair => [value, value];
    return bySparsity(
      values,
      (dense, indices) => {
        const pairs = dense.map((value) => onItself(densified(value)));
        return this.reduceDense(op, pairs, optionsAt(indices, call));
      },
      (sparse) => (this.#gathering as GatheringOps).batchReduce(op, sparse.map(onItself), partOf(call)),
    );
  }

  #requireComponents(values: readonly DistributedValues<Value>[]): void {
    const { devices } = this.#others as OtherWorkers;
    const odd = values.find((value) => value.values.length !== devices.length);
    if (!odd) return;
    const message = `each value must have one component on each of [${devices.join(', ')}], the devices of this worker, got a value with ${odd.values.length}`;
    throw new ValueError('ERR_COLL_VALUE', `${this.name}: ${message}`, { operation: 'all-reduce' });
  }
}

function wrapped(
  { communicator }: Pick<AllReduceSetup, 'communicator'>,
  size: number,
  ranks: Communicator,
): Communicator {
  return communicator?.(size, ranks) ?? ranks;
}

/** Opens a communicator of the ranks of all workers. */
export function joined(others: OtherWorkers, engine: Communicator): Communicator {
  return new GroupCommunicator({ ...others, ranks: others.connect(engine), engine, oneByOne: !others.keepsOrder });
}

function gatheringAmong(others: OtherWorkers): GatheringOps {
  const { group, devices, gathering: algorithm = autoAlgorithm() } = others;
  return new GatheringOps({
    group,
    devices: devices.length,
    algorithm,
    connect: (names) => new GroupCommunicator({ ...others, ranks: connectGroup(group, algorithm), names }),
  });
}

/**
 * Returns a world of all workers' devices if each worker has a single device. Otherwise returns the
 * given world, because a worker first combines the values of its own replicas.
 */
function worldAmong({ group, devices }: OtherWorkers, world: World | undefined): World | undefined {
  if (world && world.localRanks.length !== world.devices.length) {
    const message = `replicas of [${world.devices.join(', ')}] in separate threads cannot share the process group of their worker`;
    throw new ValueError('ERR_COLL_REFUSED', `${message}: keep the replicas of a process in one thread`);
  }
  const [own = ''] = devices;
  if (devices.length > 1) return world;
  const all = Array.from({ length: group.size }, (_, rank) => (rank === group.rank ? own : inTask(own, rank)));
  return processWorld(group, all);
}

/** The name of the device with task number `task`. */
export function inTask(device: string, task: number): string {
  return DeviceSpec.fromString(device).overlaid(new DeviceSpec({ task })).toString();
}

/** Returns the value, with sparse components converted to dense ones. */
function densified(value: DistributedValues<Value>): DistributedValues<Value> {
  if (!value.values.some((item) => item instanceof IndexedSlices)) return value;
  return new PerReplica(value.values.map((item) => (item instanceof IndexedSlices ? densify(item) : item)));
}

/** For each destination, a copy of the component on that device, or else of the first component. */
function placed(result: PossiblyMirrored, destinations: Destinations, { sharedResult }: ResolvedOptions) {
  const components = (result instanceof DistributedValues ? result.values : [result]) as readonly Value[];
  const copy = sharedResult ? viewOnDevice : copyToDevice;
  return mirror(
    getDevicesFrom(destinations).map((device) =>
      copy(components.find((component) => sameDevice(component.device, device)) ?? (components[0] as Value), device),
    ),
  );
}

function onlyOne(results: readonly PossiblyMirrored[]): PossiblyMirrored {
  return results[0] as PossiblyMirrored;
}

import {
  allDevicesMatch,
  type CallFields,
  type CommunicationImplementation,
  CommunicationOptions,
  type Destinations,
  type DistributedValues,
  deviceType,
  type Explanation,
  hierarchical,
  logFirst,
  type PossiblyMirrored,
  type ReadyPair,
  type ReduceOp,
  type ReplicaCallOptions,
  type ReplicaValue,
  type ResolvedOptions,
  registry,
  resolveCallOptions,
  type Structure,
  type Tensor,
  type Value,
  type World,
} from '@coll/core';
import { ringAlgorithm } from '@coll/ring';
import type { AlgorithmChoice } from './algorithm-choices.js';
import { autoAlgorithm, choicesOf, connectGroup } from './auto-communicator.js';
import { type CollectiveAllReduceOptions, type CollectiveSetting, collectiveSetting } from './collective-options.js';
import { inTurn } from './group-turns.js';
import { tuningOf } from './link-tuning.js';
import { MultiWorkerAllReduce } from './multi-worker-all-reduce.js';
import { type OtherWorkers, WorkerAllReduce } from './worker-all-reduce.js';

/** As of all ops, and what was chosen for collectives of the group. */
export interface CollectiveExplanation extends Explanation {
  /** Of all collectives of the process group for which an algorithm was chosen, by whatever ops. */
  readonly choices: readonly AlgorithmChoice[];
}

/**
 * All-reduce among the devices of several workers, each a process with as many of them: components of a value are those of this worker. They are combined here
 * first, then once among the workers, and every device gets the result. All workers make the same calls in the same order.
 *
 * `implementation` says what is played: RING a ring; AUTO, among workers, the algorithm that suits the size by what the links can do, and else
 * `direct`; NCCL, on GPUs, what is registered as `nccl` within each worker and a ring among them. On CPUs NCCL is a ring.
 */
export class CollectiveAllReduce extends WorkerAllReduce {
  readonly name = 'collective';
  readonly #setting: CollectiveSetting;
  readonly #given: CollectiveAllReduceOptions;
  readonly #world: World | undefined;
  readonly #plays: CommunicationImplementation;
  /** For calls that ask for another implementation. */
  readonly #others = new Map<CommunicationImplementation, WorkerAllReduce>();

  /**
   * `devices` are those of this worker, `groupSize` counts those of all. Without devices these are the world's, or any where this worker is alone; without a size
   * there is one worker a process of the group.
   * @throws ValueError for a group size that the number of devices does not divide, or that is not what the group reaches; what `AllReduceOps` throws
   */
  constructor(
    devices?: readonly string[],
    groupSize?: number,
    options: CollectiveAllReduceOptions | CommunicationOptions = {},
    world?: World,
  ) {
    const given = options instanceof CommunicationOptions ? { options } : options;
    const setting = collectiveSetting(devices, groupSize, given, world);
    const plays = setting.options.implementation === 'AUTO' ? 'AUTO' : 'RING';
    const algorithm = plays === 'AUTO' ? autoAlgorithm : ringAlgorithm();
    const { engine, numPacks, aggSmallGradsMaxBytes, aggSmallGradsMaxGroup } = given;
    const packing = { numPacks, aggSmallGradsMaxBytes, aggSmallGradsMaxGroup };
    super({ ...packing, engine, world, algorithm, others: othersOf(setting, algorithm) });
    this.#setting = setting;
    this.#given = given;
    this.#world = world;
    this.#plays = plays;
  }

  /** Values may live on devices of several tasks. */
  override get severalTasks(): boolean {
    return true;
  }

  /** Measures the links now, rather than when the first collective comes that needs to know. All workers do so at the same place among their calls. */
  async join(): Promise<void> {
    const { group, options } = this.#setting;
    if (!group || this.#plays !== 'AUTO') return;
    await inTurn(group, () => tuningOf(group).measure({ timeoutSeconds: options.timeoutSeconds }));
  }

  /** Also tells which algorithms were chosen, by what prices, and what they took. */
  override explain(): CollectiveExplanation {
    const { group } = this.#setting;
    return { ...super.explain(), choices: group ? choicesOf(group) : [] };
  }

  /** From inside a replica: the sum or mean over all replicas of all workers, of each tensor of a structure. */
  override async allReduce(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>> {
    const call = this.#replicaCall(options);
    const ops = this.#opsOfReplica(call);
    return ops === this ? super.allReduce(op, value, replicaId, call) : ops.allReduce(op, value, replicaId, call);
  }

  override allReduceSync(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Structure<Value> {
    const call = this.#replicaCall(options);
    const ops = this.#opsOfReplica(call);
    return ops === this
      ? super.allReduceSync(op, value, replicaId, call)
      : ops.allReduceSync(op, value, replicaId, call);
  }

  /** Also closes the ops that it has made for calls which asked for another implementation; the group stays open. */
  override async close(): Promise<void> {
    await super.close();
    await Promise.all([...this.#others.values()].map((ops) => ops.close()));
  }

  protected override async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    given: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    const call = this.#merged(given);
    const ops = this.#opsFor(call.options.implementation, value.devices);
    if (ops !== this) return (await this.handOver(ops, op, [[value, destinations]], call))[0] as PossiblyMirrored;
    return super.reduceImplementation(op, value, destinations, call);
  }

  /** Packs the values, and serves them after those of calls before this one. */
  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    given: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const call = this.#merged(given);
    const ops = this.#opsFor(call.options.implementation, pairs[0]?.[0].devices ?? []);
    if (ops !== this) return this.handOver(ops, op, pairs, call);
    this.#tell(pairs, call.options);
    return super.batchReduceImplementation(op, pairs, call);
  }

  /** Joins the components of all workers along an axis, in rank order; their lengths may differ there. */
  protected override gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    logFirst(10, 'collective all-gather', 'info', `collective all-gather of ${value.values.length} values here`);
    return super.gatherImplementation(value, destinations, axis, this.#merged(call));
  }

  #merged(call: ResolvedOptions): ResolvedOptions {
    return { ...call, options: this.#setting.options.merge(call.options) };
  }

  #replicaCall(options: ReplicaCallOptions | undefined): CallFields & ReplicaCallOptions {
    const call = callOf(this.#merged(resolveCallOptions(options)));
    return { ...call, into: (Object(options) as ReplicaCallOptions & { into?: undefined }).into };
  }

  /** Replicas of one thread meet, and are then served as any other value; those of threads join their group once, for what these ops play. */
  #opsOfReplica({ options }: CallFields): WorkerAllReduce {
    const { devices = [], group } = this.#setting;
    const asked = options?.implementation ?? 'AUTO';
    if (group) return devices.length === 1 ? this.#opsFor(asked, devices) : this;
    if (this.#world?.localRanks.length === 1 && asked !== 'AUTO' && asked !== this.#plays) {
      const remark = `${asked} was asked for by a replica in a thread of its own, where ${this.#plays} plays, as these ops were made`;
      if (this.note(remark)) logFirst(1, `collective: ${remark}`, 'warn', `collective: ${remark}`);
    }
    return this;
  }

  /** These ops, or others that play what a call asks for. */
  #opsFor(asked: CommunicationImplementation, devices: readonly string[]): WorkerAllReduce {
    const wanted = asked === 'NCCL' && !this.#hasNccl(devices) ? 'RING' : asked;
    if (wanted === this.#plays || wanted === 'AUTO') return this;
    const ops = this.#others.get(wanted) ?? this.#open(wanted);
    this.#others.set(wanted, ops);
    return ops;
  }

  #hasNccl(devices: readonly string[]): boolean {
    const odd = devices.find((device) => deviceType(device) !== 'GPU');
    if (odd === undefined && registry.has('nccl')) return true;
    const why =
      odd === undefined
        ? 'nothing is registered as "nccl": install @coll/nccl and import @coll/nccl/register'
        : `${odd} is no GPU`;
    const remark = `NCCL was asked for, but ${why}; a ring serves it`;
    if (this.note(remark)) logFirst(1, `collective: ${remark}`, 'warn', `collective: ${remark}`);
    return false;
  }

  #open(implementation: CommunicationImplementation): WorkerAllReduce {
    const { devices, group, options } = this.#setting;
    const given = { ...this.#given, options: options.merge({ implementation }) };
    if (implementation === 'RING') return new CollectiveAllReduce(devices, undefined, given, this.#world);
    if (!group) return new MultiWorkerAllReduce(undefined, undefined, { ...given, allReduceSpec: 'nccl' }, this.#world);
    const workers = Array.from({ length: group.size }, (_, rank) => `/job:worker/task:${rank}`);
    return new MultiWorkerAllReduce(workers, devices?.length, { ...given, allReduceSpec: 'nccl/xring' }, this.#world);
  }

  #tell(pairs: readonly ReadyPair[], { bytesPerPack }: CommunicationOptions): void {
    if (!allDevicesMatch(pairs)) {
      const told = 'values go one by one where destinations are not the devices that all of them are on';
      logFirst(
        10,
        'collective destinations',
        'warn',
        `collective: efficient batchReduce needs equal destinations; ${told}`,
      );
    }
    const { groupSize = 'of any size' } = this.#setting;
    const told = `${pairs.length} values, group size ${groupSize}, implementation ${this.#plays}, bytesPerPack ${bytesPerPack}`;
    logFirst(10, 'collective all-reduce', 'info', `collective all-reduce: ${told}`);
  }
}

function othersOf(
  { group, devices, launch }: CollectiveSetting,
  algorithm: typeof autoAlgorithm,
): OtherWorkers | undefined {
  if (!group || !devices) return undefined;
  return {
    group,
    devices,
    launch,
    // Two levels keep it in themselves, but several of them do not.
    keepsOrder: true,
    connect(engine) {
      const across = connectGroup(group, algorithm);
      return devices.length === 1 ? across : hierarchical([engine], across);
    },
  };
}

function callOf({ options, signal, sharedResult, deduplicate }: ResolvedOptions): CallFields {
  return { options, signal, sharedResult, deduplicate };
}

import {
  CommunicationOptions,
  type CrossDeviceOps,
  type Destinations,
  type DistributedValues,
  type Explanation,
  PerReplica,
  type PossiblyMirrored,
  type ReadyPair,
  type ReduceOp,
  type ResolvedOptions,
  type Tensor,
  type Turn,
  type Value,
  type World,
} from '@coll/core';
import {
  type Batch,
  drive,
  optionsOf,
  partOf,
  runOptionsOf,
  stepOf,
  type ValueLists,
  type Work,
} from '@coll/core/internal';
import { allDevicesMatch, logFirst } from '@coll/core/plugin';
import { ringAlgorithm } from '@coll/ring';
import type { AlgorithmChoice } from './algorithm-choices.js';
import { autoAlgorithm, choicesOf } from './auto-communicator.js';
import {
  type CollectiveAllReduceOptions,
  type CollectiveSetting,
  collectiveAllReduceOptions,
  collectiveSetting,
} from './collective-options.js';
import { CollectiveRouter, RingAllReduce, setupOf } from './collective-router.js';
import { tuningOf } from './link-tuning.js';
import { WorkerAllReduce } from './worker-all-reduce.js';

/** An explanation that also contains the algorithms that were chosen by buffer size. */
export interface CollectiveExplanation extends Explanation {
  /**
   * The algorithms chosen for all collectives of the process group, including those of other ops.
   */
  readonly choices: readonly AlgorithmChoice[];
}

/**
 * All-reduce over the devices of several workers, which are processes with equally many devices. A
 * value has one component per device of this worker. Components are combined within the worker
 * first, then across workers, and every device gets the result. All workers make the same calls in
 * the same order.
 *
 * `implementation` selects the algorithm. NCCL: on GPUs, the plug-in registered as `nccl`, across
 * all workers; on CPUs, a ring. RING: a ring. AUTO: on GPUs, NCCL if every worker has the plug-in;
 * otherwise `direct` within a worker and, across workers, the algorithm that is fastest for the
 * size, as predicted from the measured speed of the links.
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 * import { CollectiveAllReduce } from '@coll/multi-worker';
 *
 * // With several processes: new CollectiveAllReduce(devices, undefined, { group })
 * const devices = ['cpu:0', 'cpu:1'];
 * await using ops = new CollectiveAllReduce(devices);
 * const value = new PerReplica(devices.map((device, index) => tensor([index], { device })));
 * const mean = await ops.reduce('MEAN', value, devices);
 * console.log('values' in mean && mean.values.map(({ data }) => data[0])); // [ 0.5, 0.5 ]
 * ```
 */
export class CollectiveAllReduce extends WorkerAllReduce {
  readonly name = 'collective';
  readonly #setting: CollectiveSetting;
  readonly #world: World | undefined;
  /** The implementation that these ops use for values that NCCL does not combine. */
  readonly #onHost: 'AUTO' | 'RING';
  readonly #router: CollectiveRouter;
  /** The options of the latest call, and what they are with the options of these ops as defaults. */
  #latestOptions: { readonly call: ResolvedOptions; readonly merged: ResolvedOptions } | undefined;

  /**
   * `devices` are the devices of this worker. Default: the devices of the world; without a world,
   * one CPU if there is a group, otherwise any devices. `groupSize` is the number of devices of all
   * workers. Default: each process of the group has as many devices as this one.
   * @throws ValueError if `groupSize` differs from the number of devices of all workers; also the
   * errors of `AllReduceOps`
   */
  constructor(
    devices?: readonly string[],
    groupSize?: number,
    options: CollectiveAllReduceOptions | CommunicationOptions = {},
    world?: World,
  ) {
    const given =
      options instanceof CommunicationOptions
        ? { options }
        : optionsOf(options, '{ group }', collectiveAllReduceOptions);
    const setting = collectiveSetting(devices, groupSize, given, world);
    const onHost = setting.options.implementation === 'AUTO' ? 'AUTO' : 'RING';
    const algorithm = onHost === 'AUTO' ? autoAlgorithm() : ringAlgorithm();
    super(setupOf(setting, given, world, algorithm));
    this.#setting = setting;
    this.#world = world;
    this.#onHost = onHost;
    this.#router = new CollectiveRouter({
      ...{ own: this, onHost, setting, given, world },
      gatherLines: (line, turn) => this.gatherLines(line, { options: setting.options, turn }),
      remark: (level, why) => this.#remark(level, why),
    });
  }

  /** Always true: values may be on devices of several tasks. */
  override get severalTasks(): boolean {
    return true;
  }

  /**
   * Determines whether NCCL can be used and how fast the links are. Without this call, the first
   * collective that needs these facts determines them. All workers must call this method at the
   * same point of their sequence of calls.
   * @throws CollError if NCCL was requested by name for GPUs, but is not available on a worker
   */
  async join(): Promise<void> {
    const { group, options, devices } = this.#setting;
    if (!devices) return;
    const { timeoutSeconds } = options;
    const join = async (turn?: Turn) => {
      await this.#router.choose({ options, turn }, devices);
      if (group && this.#onHost === 'AUTO' && group.executesBy === undefined)
        await tuningOf(group).measure({ timeoutSeconds, turn });
    };
    const order = this.ordering?.group.order;
    await (order ? order.hold(join) : join());
  }

  /** Also reports the chosen algorithms, with predicted and measured times in seconds. */
  override explain(): CollectiveExplanation {
    const { group } = this.#setting;
    const explanation = super.explain();
    const notes = [...explanation.notes, ...this.#router.notes];
    return { ...explanation, notes, choices: group && group.executesBy === undefined ? choicesOf(group) : [] };
  }

  override withDefaults(call: ResolvedOptions): ResolvedOptions {
    const before = this.#latestOptions;
    if (before?.call === call) return before.merged;
    const options = this.#setting.options.merge(call.options);
    // The single local result is shared by all local replicas.
    const isShared = this.#isRank && call.sharedResult;
    const merged = isShared ? { ...call, options, sharedResult: false } : { ...call, options };
    this.#latestOptions = { call, merged };
    return merged;
  }

  override perform(batch: Batch, call: ResolvedOptions): Work<ValueLists> {
    if (this.#world?.localRanks.length === 1 && !this.#isRank) {
      this.#tellThread(call.options);
      return super.perform(batch, call);
    }
    // Values sent to other workers pass through the host.
    if (batch.request.kind === 'broadcast') return super.perform(batch, call);
    const devices = batch.inputs.map(([value]) => value?.device ?? '');
    const known = this.#router.known(call, devices);
    if (known) return this.#workBy(known, batch, call);
    return stepOf(this.ordering, async ({ turn }) => {
      const own = turn ? { ...call, turn } : call;
      const ops = await this.#router.choose(own, devices);
      return drive(this.#workBy(ops, batch, own), runOptionsOf(own));
    });
  }

  /** Like `perform`, for calls that block the thread. All values are on the host. */
  override performSync(batch: Batch, call: ResolvedOptions): Work<ValueLists> {
    if (!this.#isRank) return this.perform(batch, call);
    return this.#workBy(this.#router.chooseSync(call, this.#setting.devices ?? []), batch, call);
  }

  /** Also closes the ops made for calls with another implementation. The group stays open. */
  override async close(): Promise<void> {
    await super.close();
    await this.#router.close();
  }

  protected override async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    given: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    const call = this.withDefaults(given);
    const ops = await this.#router.choose(call, value.devices);
    return ops === this
      ? super.reduceImplementation(op, value, destinations, call)
      : ops.reduce(op, value, destinations, partOf(call));
  }

  /** Reduces the values in packs, after the values of all earlier calls. */
  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    given: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const call = this.withDefaults(given);
    const ops = await this.#router.choose(call, pairs[0]?.[0].devices ?? []);
    if (ops !== this) {
      const into = call.targets?.map((tensors) => tensors && new PerReplica(tensors));
      return ops.batchReduce(op, pairs, { ...partOf(call), into });
    }
    this.#tell(pairs, call.options);
    return super.batchReduceImplementation(op, pairs, call);
  }

  /**
   * Concatenates the components of all workers along an axis, in rank order. Their sizes along that
   * axis may differ.
   */
  protected override async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    given: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    logFirst(10, 'collective all-gather', 'info', `collective all-gather of ${value.values.length} values here`);
    const call = this.withDefaults(given);
    const ops = await this.#router.choose(call, value.devices);
    return ops === this
      ? super.gatherImplementation(value, destinations, axis, call)
      : ops.gather(value, destinations, axis, partOf(call));
  }

  /**
   * Whether each worker has a single device, so that its only replica is a rank of the group. If a
   * worker has several devices, their values are first combined locally.
   */
  get #isRank(): boolean {
    const { devices, group } = this.#setting;
    return group !== undefined && devices?.length === 1;
  }

  #workBy(ops: CrossDeviceOps, batch: Batch, call: ResolvedOptions): Work<ValueLists> {
    if (ops === this) return super.perform(batch, call);
    // NCCL's ops take values of all replicas of this worker, from the methods above.
    return ops instanceof RingAllReduce ? ops.perform(batch, call) : this.hookWork(batch, call);
  }

  /**
   * Warns if a replica in its own thread requests another implementation. The request has no
   * effect, because such a replica joins its group only once, with the implementation of these ops.
   */
  #tellThread({ implementation }: CommunicationOptions): void {
    if (this.#world?.localRanks.length !== 1 || implementation === 'AUTO' || implementation === this.#onHost) return;
    const asked = `a replica in its own thread requested ${implementation}`;
    this.#remark('warn', `${asked}, but these ops were created with ${this.#onHost}, which is used`);
  }

  #remark(level: 'info' | 'warn', why: string): void {
    if (this.note(why)) logFirst(1, `collective: ${why}`, level, `collective: ${why}`);
  }

  #tell(pairs: readonly ReadyPair[], { bytesPerPack }: CommunicationOptions): void {
    if (!allDevicesMatch(pairs)) {
      const message =
        'values are reduced one by one unless the destinations of each are the devices that hold all values';
      logFirst(
        10,
        'collective destinations',
        'warn',
        `collective: efficient batchReduce needs equal destinations; ${message}`,
      );
    }
    const { groupSize = 'of any size' } = this.#setting;
    const message = `${pairs.length} values, group size ${groupSize}, implementation ${this.#onHost}, bytesPerPack ${bytesPerPack}`;
    logFirst(10, 'collective all-reduce', 'info', `collective all-reduce: ${message}`);
  }
}

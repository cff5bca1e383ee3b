import {
  type CallOptions,
  type Destinations,
  DistributedValues,
  type PerReplica,
  type PossiblyMirrored,
  type ReduceOp,
  type Structure,
  type Value,
} from '@coll/core';
import { asValue } from '@coll/core/internal';
import { viewOnDevice } from '@coll/core/plugin';
import type { Serving, ValuePair } from '../scope/extended.js';
import type { Strategy } from '../scope/strategy.js';
import type { WorkerGroup } from '../scope/worker-group.js';
import { DistributedExtended } from '../strategies/distributed-extended.js';
import type { WorkerCollectives } from './worker-collectives.js';
import { ownDevices } from './worker-devices.js';
import type { WorkerInfo } from './worker-info.js';

/**
 * What the lower-level methods of a strategy need to know about this worker and the other workers.
 */
export interface MultiWorkerInfo {
  readonly worker: WorkerInfo;
  /** The devices of this worker. */
  readonly devices: readonly string[];
  /** The CPU of this worker. */
  readonly host: string;
  readonly collectives: WorkerCollectives;
}

/**
 * The lower-level methods of a strategy with several workers. Values with a component per device of
 * this worker, and non-distributed values, are combined with the corresponding values of all other
 * workers. Destinations are devices of this worker.
 */
export class MultiWorkerExtended extends DistributedExtended {
  readonly #info: MultiWorkerInfo;

  constructor(strategy: Strategy, info: MultiWorkerInfo) {
    super(strategy, info.devices, () => info.collectives.deviceOps());
    this.#info = info;
  }

  override get firstReplica(): number {
    return this.#info.worker.idInCluster * this.workerDevices.length;
  }

  override get workers(): WorkerGroup {
    return this.#info.collectives;
  }

  /** Whether this process saves checkpoints: true for the chief. */
  override get shouldCheckpoint(): boolean {
    return this.#info.worker.isChief;
  }

  /** Whether this process writes summaries: true for the chief. */
  override get shouldSaveSummary(): boolean {
    return this.#info.worker.isChief;
  }

  /** Always true, because each worker runs its own program. */
  override get experimentalBetweenGraph(): boolean {
    return true;
  }

  protected override serving(value: unknown): Serving {
    const { host, collectives, worker } = this.#info;
    const isSingle = !(value instanceof DistributedValues) || value.values.length === 1;
    if (!isSingle || worker.workers === 1 || this.workerDevices.length === 1) return super.serving(value);
    return { devices: [host], ops: () => collectives.hostOps() };
  }

  protected override placedDestinations(destinations: Destinations, devices: readonly string[]): Destinations {
    const own = (names: readonly string[]) => ownDevices(names, this.#info.worker);
    if (typeof destinations === 'string' && destinations !== '') return own([destinations])[0] as string;
    if (Array.isArray(destinations) && destinations.every((device) => typeof device === 'string'))
      return own(destinations);
    return super.placedDestinations(destinations, devices);
  }

  protected override placedValue(value: unknown, devices: readonly string[]): Value | PerReplica<Value> {
    if (value instanceof DistributedValues) return super.placedValue(value, devices);
    const ready = asValue(value as Value);
    const [own] = devices.length === 1 ? devices : [this.#info.host];
    return ready.device === '' ? viewOnDevice(ready, own as string) : ready;
  }

  /**
   * Reduces a non-distributed value across the workers, each of which contributes its own value.
   */
  protected override async reduceNonDistributed(
    op: ReduceOp,
    value: unknown,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<Structure<unknown>> {
    if (this.#info.worker.workers === 1) return super.reduceNonDistributed(op, value, destinations, options);
    const { devices, ops } = this.serving(value);
    const placed = this.placedValue(value, devices);
    return (await ops()).reduce(op, placed, this.placedDestinations(destinations, devices), options) as Promise<
      Structure<unknown>
    >;
  }

  /**
   * Reduces values in two batches: first the values with a component per device, then all others.
   */
  protected override async reducePairs(
    op: ReduceOp,
    pairs: readonly ValuePair[],
    options?: CallOptions,
  ): Promise<PossiblyMirrored[]> {
    const isSingle = ([value]: ValuePair) => this.serving(value).devices !== this.workerDevices;
    const single = pairs.filter(isSingle);
    if (single.length === 0 || single.length === pairs.length) return super.reducePairs(op, pairs, options);
    const others = pairs.filter((pair) => !isSingle(pair));
    const results = await super.reducePairs(op, others, options);
    const singleResults = await super.reducePairs(op, single, options);
    return pairs.map((pair) => (isSingle(pair) ? singleResults : results).shift() as PossiblyMirrored);
  }
}

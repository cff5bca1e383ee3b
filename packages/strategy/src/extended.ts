import {
  AssertionError,
  asTensor,
  type CallOptions,
  type CrossDeviceOps,
  type Destinations,
  DistributedValues,
  flatten,
  IndexedSlices,
  isMapping,
  Mirrored,
  PerReplica,
  type PossiblyMirrored,
  packLike,
  quote,
  ReduceOp,
  type ReduceOpLike,
  reduceOpFrom,
  type Structure,
  toNumbers,
  type Value,
  ValueError,
  validateDestinations,
  zeros,
} from '@coll/core';
import { requireCrossReplica } from './contexts.js';
import { requireDense } from './replica-request.js';
import type { Strategy } from './strategy.js';

/** The lower-level methods of a strategy. All need cross-replica context. */
export class StrategyExtended {
  protected readonly strategy: Strategy;
  readonly #devices: readonly string[];
  readonly #ops: () => Promise<CrossDeviceOps>;

  constructor(strategy: Strategy, workerDevices: readonly string[], ops: () => Promise<CrossDeviceOps>) {
    this.strategy = strategy;
    this.#devices = workerDevices;
    this.#ops = ops;
  }

  /** The devices of the replicas, by their full names. */
  get workerDevices(): readonly string[] {
    return this.#devices;
  }

  /** Where results go that are asked for without a destination. */
  get defaultDevice(): string {
    return this.#devices[0] ?? 'cpu:0';
  }

  get parameterDevices(): readonly string[] {
    return this.workerDevices;
  }

  /**
   * Combines a value over the replicas and puts the result on the destinations. A mirrored value is its own mean; a value that is
   * not distributed is its own mean, too, and may only be 0 to be summed. Structures are reduced leaf by leaf.
   * @throws AssertionError for the sum of a mirrored value; ValueError; the errors of `CrossDeviceOps.reduce`
   */
  async reduceTo(
    reduceOp: ReduceOpLike,
    value: unknown,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<Structure<unknown>> {
    requireCrossReplica(this.strategy, 'reduceTo');
    const op = reduceOpFrom(reduceOp);
    if (Array.isArray(value) || isMapping(value))
      return this.#reduceStructure(op, value as Structure<unknown>, destinations, options);
    if (value instanceof Mirrored) return this.#keepMirrored(op, value);
    if (!(value instanceof DistributedValues)) return this.#reduceNonDistributed(op, value, destinations);
    const placed = this.#placed(value);
    const ops = await this.#ops();
    return ops.reduce(op, placed, this.#where(destinations), options) as Promise<Structure<unknown>>;
  }

  /** Reduces each value to its destinations, together where that is faster; results in the order of the pairs. */
  async batchReduceTo(
    reduceOp: ReduceOpLike,
    pairs: Iterable<readonly [value: unknown, destinations: Destinations]>,
    options?: CallOptions,
  ): Promise<PossiblyMirrored[]> {
    requireCrossReplica(this.strategy, 'batchReduceTo');
    const op = reduceOpFrom(reduceOp);
    const ready = requirePairs(pairs).map(([value, destinations]) => {
      const placed = value instanceof DistributedValues ? this.#placed(value) : (value as Value);
      return [placed, this.#where(destinations as Destinations)] as const;
    });
    const ops = await this.#ops();
    return ops.batchReduce(op, ready, options);
  }

  /** Copies of a value on the destinations; a plain number comes back as it is. @throws AssertionError without destinations */
  async broadcastTo(value: unknown, destinations: Destinations): Promise<PossiblyMirrored | number> {
    requireCrossReplica(this.strategy, 'broadcastTo');
    if (typeof value === 'number') return value;
    if (destinations === undefined || destinations === null) {
      throw new AssertionError(
        'ERR_COLL_DESTINATION',
        'broadcastTo: name the destinations: a device, a list of devices or a value',
      );
    }
    return (await this.#ops()).broadcast(value as Value, this.#where(destinations));
  }

  /** The components of a value joined along an axis, on the destinations. */
  async gatherTo(
    value: unknown,
    destinations: Destinations,
    axis: number,
    options?: CallOptions,
  ): Promise<PossiblyMirrored> {
    requireCrossReplica(this.strategy, 'gatherTo');
    requireDense(value instanceof DistributedValues ? value.values : [value], 'gather');
    const placed = value instanceof DistributedValues ? this.#placed(value) : (value as Value);
    return (await this.#ops()).gather(placed, this.#where(destinations), axis, options);
  }

  /** Runs a function on every replica, as `run` does. */
  callForEachReplica(...run: Parameters<Strategy['run']>): Promise<Structure<unknown>> {
    return this.strategy.run(...run);
  }

  async #reduceStructure(
    op: ReduceOp,
    value: Structure<unknown>,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<Structure<unknown>> {
    const results = flatten(value).map((leaf) => this.reduceTo(op, leaf, destinations, options));
    return packLike(value, await Promise.all(results));
  }

  #keepMirrored(op: ReduceOp, value: Mirrored): Mirrored {
    if (op !== ReduceOp.SUM && op !== ReduceOp.PRODUCT) return value;
    throw new AssertionError(
      'ERR_COLL_VALUE',
      `reduceTo: a mirrored value is already reduced; its ${op} over the replicas is almost surely a mistake`,
      {
        operation: 'reduce',
      },
    );
  }

  async #reduceNonDistributed(op: ReduceOp, value: unknown, destinations: Destinations): Promise<Structure<unknown>> {
    if (value === 0) return 0;
    const isSparse = value instanceof IndexedSlices;
    const dense = isSparse ? undefined : asTensor(value);
    if (dense && ArrayBuffer.isView(value) && toNumbers(dense).every((number) => number === 0))
      return zeros(dense.dtype, dense.shape);
    if (op === ReduceOp.MEAN || op === ReduceOp.MIN || op === ReduceOp.MAX) return value as Structure<unknown>;
    const replicas = this.#devices.length;
    if (replicas !== 1) {
      const told = `A non-distributed value ${quote(value)} cannot be reduced with the given reduce op ${op} over ${replicas} replicas`;
      throw new ValueError('ERR_COLL_VALUE', `${told}: return it from the replicas, or reduce it with MEAN`, {
        operation: 'reduce',
      });
    }
    validateDestinations(destinations);
    return (await this.#ops()).broadcast(value as Value, destinations);
  }

  /** Destinations whose components have no device of their own are where the replicas are. */
  #where(destinations: Destinations): Destinations {
    if (!(destinations instanceof DistributedValues) || destinations.values.length !== this.#devices.length)
      return destinations;
    const { devices } = destinations;
    if (!devices.includes('')) return destinations;
    return devices.map((device, replica) => device || (this.#devices[replica] as string));
  }

  /** Components without a device of their own live on their replica's. @throws ValueError for another number of components */
  #placed(value: DistributedValues): PerReplica<Value> {
    if (value.values.length !== this.#devices.length) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        `a value of ${value.values.length} components cannot be reduced over ${this.#devices.length} replicas`,
        {
          operation: 'reduce',
        },
      );
    }
    return new PerReplica(
      value.values.map((item, replica) => {
        const component = item instanceof IndexedSlices ? item : asTensor(item);
        if (component.device !== '') return component;
        const device = this.#devices[replica] as string;
        if (!(component instanceof IndexedSlices)) return { ...component, device };
        return new IndexedSlices(
          { ...component.values, device },
          { ...component.indices, device },
          component.denseShape,
        );
      }),
    );
  }
}

function requirePairs(pairs: unknown): readonly (readonly [value: unknown, destinations: unknown])[] {
  const isIterable = typeof pairs === 'object' && pairs !== null && Symbol.iterator in pairs;
  if (!isIterable) throw badPairs(`batchReduceTo takes a list of [value, destinations] pairs, not ${quote(pairs)}`);
  const list = Array.from(pairs as Iterable<readonly [unknown, unknown]>);
  const odd = list.findIndex((pair) => !(Array.isArray(pair) && pair.length === 2));
  if (odd >= 0) throw badPairs(`a pair is an array [value, destinations], not ${quote(list[odd])}`);
  return list;
}

function badPairs(told: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', told, { operation: 'batch-reduce' });
}

import {
  AssertionError,
  type CallOptions,
  type CrossDeviceOps,
  type Destinations,
  DistributedValues,
  Mirrored,
  type PerReplica,
  type PossiblyMirrored,
  type ReducedOnDevices,
  ReduceOp,
  type ReduceOpLike,
  type Structure,
  type Tensor,
  type Value,
  ValueError,
} from '@coll/core';
import {
  containerOf,
  flatten,
  isMapping,
  packLike,
  quote,
  requireDense,
  resolveWithoutInto,
} from '@coll/core/internal';
import type { UpdateFunction, UpdateOptions } from '../variables/update-options.js';
import { Variable } from '../variables/variable.js';
import type { VariableOptions, VariableValue } from '../variables/variable-options.js';
import { type FrameStrategy, requireCrossReplica } from './contexts.js';
import { placedDestinations, placedValues, requirePairs, strategyOp } from './placed-values.js';
import { reduceNonDistributed } from './reduce-non-distributed.js';
import { countingRefusals } from './refused-calls.js';
import type { ReducedTo } from './structure-types.js';
import { oneWorker, type WorkerGroup } from './worker-group.js';

/** A value and the destinations of its result. */
export type ValuePair = readonly [value: unknown, destinations: unknown];

/** What these methods need to know about their strategy, which is a `Strategy`. */
interface Owner extends FrameStrategy {
  scope(): Disposable;
  scope<Result>(code: () => Result): Result;
}

/** Cross-device ops, and the devices of the values that these ops combine. */
export interface Serving {
  readonly devices: readonly string[];
  readonly ops: () => Promise<CrossDeviceOps>;
}

/** The methods of `StrategyExtended` whose types do not mention replicas. */
export abstract class ExtendedMethods {
  protected abstract readonly strategy: Owner;
  readonly #devices: readonly string[];
  readonly #ops: () => Promise<CrossDeviceOps>;

  constructor(workerDevices: readonly string[], ops: () => Promise<CrossDeviceOps>) {
    this.#devices = workerDevices;
    this.#ops = ops;
  }

  /** The devices of this worker's replicas, by full name. */
  get workerDevices(): readonly string[] {
    return this.#devices;
  }

  /** The id of the first replica of this worker. */
  get firstReplica(): number {
    return 0;
  }

  /** The workers of this strategy, for communication without the cross-device ops. */
  get workers(): WorkerGroup {
    return oneWorker;
  }

  /** The cross-device ops for the collectives of the replicas. */
  replicaOps(): Promise<CrossDeviceOps> {
    return this.#ops();
  }

  /** The default destination of results. */
  get defaultDevice(): string {
    return this.#devices[0] ?? 'cpu:0';
  }

  /** The devices of variables. */
  get parameterDevices(): readonly string[] {
    return this.workerDevices;
  }

  /** The devices on which an optimizer keeps state that these variables share. */
  nonSlotDevices(_variables: readonly unknown[]): readonly string[] {
    return this.workerDevices;
  }

  /** Whether shapes must stay the same from step to step: false. */
  get experimentalRequireStaticShapes(): boolean {
    return false;
  }

  /** Whether this process saves checkpoints; only one process does. */
  get shouldCheckpoint(): boolean {
    return true;
  }

  /** Whether this process writes summaries; only one process does. */
  get shouldSaveSummary(): boolean {
    return true;
  }

  /** Whether each worker runs its own program: false with one worker. */
  get experimentalBetweenGraph(): boolean {
    return false;
  }

  /** Whether this process initializes variables. */
  get experimentalShouldInit(): boolean {
    return true;
  }

  /**
   * Combines a value over the replicas and puts the result on the destinations. The mean of a
   * mirrored or non-distributed value is the value itself. With several replicas, a non-distributed
   * value can be summed only if it is zero. Structures are reduced leaf by leaf.
   * @throws AssertionError for the sum or product of a mirrored value; ValueError for invalid
   * values or options; the errors of `CrossDeviceOps.reduce`
   */
  reduceTo<const V, Op extends ReduceOpLike>(
    reduceOp: Op,
    value: V,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<ReducedTo<V, Op>>;
  reduceTo(
    reduceOp: ReduceOpLike,
    value: unknown,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<Structure<unknown>> {
    return countingRefusals(this.strategy, () => this.#reduceTo(reduceOp, value, destinations, options));
  }

  async #reduceTo(
    reduceOp: ReduceOpLike,
    value: unknown,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<Structure<unknown>> {
    requireCrossReplica(this.strategy, 'reduceTo');
    const op = strategyOp(reduceOp);
    resolveWithoutInto(options);
    if (Array.isArray(value) || isMapping(value))
      return this.#reduceStructure(op, value as Structure<unknown>, destinations, options);
    if (value instanceof Mirrored) return this.#keepMirrored(op, value);
    if (!(value instanceof DistributedValues)) return this.reduceNonDistributed(op, value, destinations, options);
    const { devices, ops } = this.serving(value);
    const [placed, into] = [this.placedValue(value, devices), this.placedDestinations(destinations, devices)];
    return (await ops()).reduce(op, placed, into, options) as Promise<Structure<unknown>>;
  }

  /**
   * Reduces each value to its destinations, in one batch if that is faster. Results are in the
   * order of the pairs.
   * @throws ValueError unless `pairs` is an iterable of pairs; the errors of
   * `CrossDeviceOps.batchReduce`
   */
  batchReduceTo<Pair extends readonly [value: unknown, destinations: Destinations], Op extends ReduceOpLike>(
    reduceOp: Op,
    pairs: Iterable<Pair>,
    options?: CallOptions,
  ): Promise<PossiblyMirrored<ReducedOnDevices<Pair[0], Op>>[]>;
  batchReduceTo(
    reduceOp: ReduceOpLike,
    pairs: Iterable<readonly [value: unknown, destinations: Destinations]>,
    options?: CallOptions,
  ): Promise<PossiblyMirrored[]> {
    return countingRefusals(this.strategy, async () => {
      requireCrossReplica(this.strategy, 'batchReduceTo');
      const op = strategyOp(reduceOp);
      resolveWithoutInto(options);
      return this.reducePairs(op, requirePairs(pairs), options);
    });
  }

  /**
   * Copies a value to the destinations; a plain number is returned unchanged.
   * @throws AssertionError without destinations
   */
  async broadcastTo(value: unknown, destinations: Destinations): Promise<PossiblyMirrored | number> {
    requireCrossReplica(this.strategy, 'broadcastTo');
    if (destinations === undefined || destinations === null) {
      throw new AssertionError(
        'ERR_COLL_DESTINATION',
        'broadcastTo: destinations must be a device, a list of devices or a value',
      );
    }
    if (typeof value === 'number') return value;
    return (await this.#ops()).broadcast(value as Value, this.placedDestinations(destinations, this.#devices));
  }

  /**
   * Joins the components of a value along an axis, in replica order, on the destinations.
   * @throws the errors of `CrossDeviceOps.gather`
   */
  gatherTo(value: unknown, destinations: Destinations, axis: number, options?: CallOptions): Promise<PossiblyMirrored> {
    return countingRefusals(this.strategy, async () => {
      requireCrossReplica(this.strategy, 'gatherTo');
      requireDense(value instanceof DistributedValues ? value.values : [value], 'gather');
      const { devices, ops } = this.serving(value);
      const [placed, into] = [this.placedValue(value, devices), this.placedDestinations(destinations, devices)];
      return (await ops()).gather(placed, into, axis, options);
    });
  }

  /**
   * Creates a variable of this strategy, like the function `variable` in its scope.
   * @throws ValueError for an invalid initial value or invalid options; RuntimeError while another
   * strategy is active
   */
  abstract createVariable(initial: VariableValue, options?: VariableOptions): Variable;

  /**
   * Calls a function for each component of a variable, in replica order, with the matching
   * components of the arguments. Inside a replica this waits for the other replicas, and the
   * function is called once per component for all of them. A replica in its own thread calls the
   * function only for its own component.
   * @throws ValueError unless `variable` is a variable of this strategy, and for an invalid
   * function or arguments; the error that the function throws
   */
  abstract update(variable: unknown, fn: UpdateFunction, options?: UpdateOptions): Promise<unknown>;

  /**
   * Runs code in the scope of this strategy, which creates all variables on the same devices as
   * `variable`. Without code, the scope lasts until the returned object is disposed of.
   * @throws ValueError unless `variable` is a variable of this strategy; RuntimeError in the same
   * cases as `scope`
   */
  colocateVarsWith(variable: unknown): Disposable;
  colocateVarsWith<Result>(variable: unknown, code: () => Result): Result;
  colocateVarsWith<Result>(_variable: unknown, code?: () => Result): Result | Disposable {
    return code !== undefined ? this.strategy.scope(code) : this.strategy.scope();
  }

  /** Whether a variable, or the variable it is a component of, was created by this strategy. */
  abstract variableCreatedInScope(variable: unknown): boolean;

  /**
   * The value of a variable. If the variable is synchronized on read, its values are combined over
   * all replicas.
   * @throws ValueError unless `variable` is a variable
   */
  readVar(variable: unknown): Promise<Tensor> {
    return countingRefusals(this.strategy, async () => {
      requireCrossReplica(this.strategy, 'readVar');
      if (variable instanceof Variable) return variable.read();
      throw new ValueError('ERR_COLL_VALUE', `readVar takes a variable, got ${quote(variable)}`);
    });
  }

  /** The variable that a value is a component of; any other value is returned unchanged. */
  valueContainer(value: unknown): unknown {
    return containerOf(value) ?? value;
  }

  /** The ops that combine a value, and the devices of the value's components. */
  protected serving(_value: unknown): Serving {
    return { devices: this.#devices, ops: this.#ops };
  }

  /** Returns the value. Its components without a device get the device of their replica. */
  protected placedValue(value: unknown, devices: readonly string[]): Value | PerReplica<Value> {
    return value instanceof DistributedValues ? placedValues(value, devices) : (value as Value);
  }

  /** Returns the destinations. Components without a device get one of `devices`. */
  protected placedDestinations(destinations: Destinations, devices: readonly string[]): Destinations {
    return placedDestinations(destinations, devices);
  }

  /** Reduces values in one batch. */
  protected async reducePairs(
    op: ReduceOp,
    pairs: readonly ValuePair[],
    options?: CallOptions,
  ): Promise<PossiblyMirrored[]> {
    const { devices, ops } = this.serving(pairs[0]?.[0]);
    const ready = pairs.map(([value, destinations]) => {
      return [
        this.placedValue(value, devices),
        this.placedDestinations(destinations as Destinations, devices),
      ] as const;
    });
    return (await ops()).batchReduce(op, ready, options);
  }

  /** Reduces a value that is not distributed. */
  protected reduceNonDistributed(
    op: ReduceOp,
    value: unknown,
    destinations: Destinations,
    _options?: CallOptions,
  ): Promise<Structure<unknown>> {
    const into = this.placedDestinations(destinations, this.#devices);
    return reduceNonDistributed({ op, value, destinations: into, replicas: this.#devices.length, ops: this.#ops });
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
      { operation: 'reduce' },
    );
  }
}

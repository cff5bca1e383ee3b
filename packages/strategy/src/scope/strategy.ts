import {
  asTensor,
  type CallOptions,
  type CrossDeviceOps,
  DistributedValues,
  type DTypeOf,
  PerReplica,
  ReduceOp,
  type ReduceOpLike,
  regroup,
  type Structure,
  type Tensor,
  ValueError,
} from '@coll/core';
import { asGiven, logDeprecated, mapStructure, quote, requireFunction, resolveWithoutInto } from '@coll/core/internal';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import type { DatasetLike } from '../data/dataset.js';
import { type DatasetFunction, distributeDatasetsFromFunction } from '../data/datasets-from-function.js';
import { distributeDataset } from '../data/distribute-dataset.js';
import type { Distributed, DistributedDataset } from '../data/distributed-dataset.js';
import { InputContext } from '../data/input-context.js';
import type { InputOptionsInit } from '../data/input-options.js';
import { ValueContext } from '../data/value-context.js';
import { Variable } from '../variables/variable.js';
import {
  axesOf,
  commonDType,
  countAcross,
  requireDivisible,
  requireSummable,
  roundedTotal,
  sizeAlong,
  sumAlong,
  trueMean,
} from './axis-sum.js';
import { enterScope, requireCrossReplica, runInScope } from './contexts.js';
import { ExtendedMethods } from './extended.js';
import { findDistributed, strategyOp } from './placed-values.js';
import { countingRefusals } from './refused-calls.js';
import type { ReplicaCollectives } from './replica-collectives.js';
import type { MainExport, ModuleOptionsOf, ModuleResult, RunOptions, RunOptionsOf } from './run-options.js';
import type { Axes, LocalResult, ReducedAcross, Regrouped } from './structure-types.js';
import { readersIn } from './worker-group.js';

/**
 * The function of a merge call. It runs once for all replicas, with their arguments regrouped into
 * distributed values.
 */
export type MergeFunction<Args extends readonly unknown[] = readonly unknown[], Result = unknown> = (
  strategy: Strategy,
  ...args: Args
) => Result | Promise<Result>;

/**
 * A replica's view of its group, and its collectives with the other replicas. Every replica makes
 * the same calls in the same order. Values may be nested in lists and plain objects with the same
 * structure on all replicas; results have the same structure.
 */
export interface ReplicaContext extends ReplicaCollectives {
  readonly strategy: Strategy;

  /**
   * Waits until all replicas have called this method. Then calls `fn(strategy, ...args)` of replica
   * 0 once, in cross-replica context, with the arguments of all replicas regrouped, and returns to
   * each replica its part of the result. `kwargs` are passed as one object after `args`. An error
   * that `fn` throws ends the run.
   * @throws ValueError unless `fn` is a function, `args` a list and `kwargs` an object;
   * RuntimeError outside of this replica, or if a replica ends without calling this method
   */
  mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: readonly unknown[],
    kwargs?: Readonly<Record<string, unknown>>,
  ): Promise<Result>;
}

/**
 * The function of each replica. Its parameters are the replica's context and the arguments of
 * `run`.
 */
export type ReplicaFunction<Args extends readonly unknown[] = readonly unknown[], Result = unknown> = (
  context: ReplicaContext,
  ...args: Args
) => Result | Promise<Result>;

/**
 * The code of every replica: a function, which may be asynchronous, or the URL of a module that
 * exports such a function, to run it in threads.
 */
export type ReplicaCode<Args extends readonly unknown[], Result> =
  | ((context: ReplicaContext, ...args: Args) => Result)
  | URL;

/**
 * Runs code on several replicas and combines their values.
 *
 * @example
 * ```ts
 * import { MirroredStrategy, type Strategy } from '@coll/strategy';
 *
 * await using mirrored = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const strategy: Strategy = mirrored;
 * const losses = await strategy.run(({ replicaIdInSyncGroup: id }) => new Float32Array([id]));
 * const mean = await strategy.reduce('mean', losses, 0);
 * console.log(mean.data); // Float32Array(1) [ 0.5 ]
 * ```
 */
export abstract class Strategy {
  /** The lower-level methods, for optimizers and libraries. */
  abstract readonly extended: StrategyExtended;

  /** Number of replicas over which values are combined. */
  get numReplicasInSync(): number {
    return this.extended.workerDevices.length;
  }

  /**
   * The resolver that describes the cluster of workers; undefined for a strategy without workers.
   */
  get clusterResolver(): ClusterResolver | undefined {
    return undefined;
  }

  /** Number of replicas in this process. */
  protected get numLocalReplicas(): number {
    return this.numReplicasInSync;
  }

  /**
   * Runs code in cross-replica context. Without code, the scope lasts until the returned object is
   * disposed of (`using scope = strategy.scope()`).
   * @throws ValueError unless `code` is a function or undefined; RuntimeError inside a replica or
   * another strategy's scope
   */
  scope(): Disposable;
  scope<Result>(code: () => Result): Result;
  scope<Result>(code?: () => Result): Result | Disposable {
    return requireCode(code) ? runInScope(this, code) : enterScope(this);
  }

  /**
   * Runs a function once on every replica, or a module in one thread per replica, and regroups the
   * results. With several replicas in this process, numbers and bigints become a `PerReplica` even
   * if they are equal; any other leaf is bare if all replicas returned the identical value, and a
   * `PerReplica` otherwise. With one replica per process, results are unchanged.
   *
   * Arguments and result have the types of the function; for a module, pass its type: `run<typeof
   * import('./replica.js')>(url, { args })`, and for an export that is neither `default` nor
   * `replica` `run<typeof import('./replica.js'), 'train'>(url, { args, exportName: 'train' })`.
   * @throws ValueError for arguments of the wrong kind; an error of a replica, with the replica's
   * number in its message
   */
  run<Args extends readonly unknown[], Result>(
    replica: ReplicaCode<Args, Result>,
    ...options: RunOptionsOf<NoInfer<Args>>
  ): Promise<Regrouped<Awaited<Result>>>;
  run<Module extends object, Name extends keyof Module = MainExport<Module>>(
    module: URL,
    ...options: ModuleOptionsOf<Module, Name>
  ): Promise<Regrouped<ModuleResult<Module, Name>>>;
  run(replica: ReplicaCode<never, unknown>, options?: RunOptions): Promise<unknown> {
    return countingRefusals(this, () => this.runReplicas(replica, options));
  }

  /** Implements `run`. */
  protected abstract runReplicas(replica: ReplicaCode<never, unknown>, options?: RunOptions): Promise<unknown>;

  /**
   * Combines a value over all replicas into one tensor on the first device. With axes, each replica
   * first sums along these axes. A mean then weighs every element equally, so replicas may have
   * batches of different sizes. Sums of floats and sums for a mean are computed in float64, over
   * all replicas and workers, and the result is rounded once.
   * @param options the options of the collectives that this method runs: their fields, or an object
   * with `options` or, as in older programs, `experimentalHints`
   * @throws WrongTypeError for ops other than SUM and MEAN with an axis, or an axis that is not an
   * integer; ValueError for an axis out of range, for unknown options, and for `options` together
   * with `experimentalHints`; InternalError for different dtypes; RuntimeError inside a replica or
   * another strategy's scope
   */
  reduce<const V, Op extends ReduceOpLike, Along extends Axes>(
    reduceOp: Op,
    value: V,
    axis: Along,
    options?: CallOptions,
  ): Promise<ReducedAcross<V, Op, Along>>;
  reduce(reduceOp: ReduceOpLike, value: unknown, axis: Axes, options?: CallOptions): Promise<unknown> {
    return countingRefusals(this, () => this.#reduce(reduceOp, value, axis, options));
  }

  async #reduce(reduceOp: ReduceOpLike, value: unknown, axis: Axes, options?: CallOptions): Promise<unknown> {
    requireCrossReplica(this, 'reduce');
    const op = strategyOp(reduceOp);
    const call = resolveWithoutInto(options);
    if (axis === undefined || axis === null) return this.#reduceAcross(op, value, call);
    requireSummable(op, axis);
    // A bare value also counts as one component here.
    const components = this.experimentalLocalResults(value).map((component) => asTensor(component));
    if (op === ReduceOp.MEAN) requireDivisible(components);
    const dtype = commonDType(components);
    const sums = components.map((component) => sumAlong(op, component, axis));
    const own = components.reduce((sum, component) => sum + sizeAlong(component, axesOf(component, axis)), 0);
    const isMeanOfItself =
      op === ReduceOp.MEAN && !findDistributed(value) && this.numLocalReplicas === this.numReplicasInSync;
    const { workers } = this.extended;
    return workers.inTurn(async (turn) => {
      const inTurn = turn ? { ...call, turn } : call;
      const count = await countAcross(workers, dtype, own, inTurn);
      const total = isMeanOfItself ? sums[0] : await this.#reduceAcross(ReduceOp.SUM, regroup(sums), inTurn);
      return asGiven(roundedTotal(op, total as Tensor, dtype, count), components[0]);
    });
  }

  /**
   * Joins the components of a value along an axis, in replica order, on the first device.
   * @throws NotImplementedError for sparse values; InvalidArgumentError if other dimensions differ;
   * RuntimeError inside a replica or another strategy's scope
   */
  gather<const V>(value: V, axis: number): Promise<Tensor<DTypeOf<LocalResult<V>>>>;
  gather(value: unknown, axis: number): Promise<Tensor> {
    return countingRefusals(this, async () => {
      requireCrossReplica(this, 'gather');
      return this.extended.gatherTo(value, this.extended.defaultDevice, axis) as Promise<Tensor>;
    });
  }

  /**
   * The components of a value, one per replica of this process; for a structure, one structure per
   * replica. For a bare value, a list that contains only that value.
   */
  experimentalLocalResults<T>(value: T): readonly LocalResult<T>[] {
    const distributed = findDistributed(value);
    if (!distributed) return [value as LocalResult<T>];
    return distributed.values.map(
      (_, replica) =>
        mapStructure(value as Structure<unknown>, (leaf) =>
          leaf instanceof DistributedValues ? leaf.values[replica] : leaf,
        ) as LocalResult<T>,
    );
  }

  /**
   * Calls a function for each replica of this process and returns a `PerReplica` of the results,
   * even if all are identical.
   * @throws ValueError unless `make` is a function; RuntimeError inside a replica or another
   * strategy's scope
   */
  experimentalDistributeValuesFromFunction<T>(make: (context: ValueContext) => T): PerReplica<T> {
    requireCrossReplica(this, 'experimentalDistributeValuesFromFunction');
    if (typeof make !== 'function') {
      const message = `experimentalDistributeValuesFromFunction takes a function, got ${quote(make)}`;
      throw new ValueError('ERR_COLL_VALUE', message);
    }
    const { numReplicasInSync } = this;
    const { firstReplica } = this.extended;
    return new PerReplica(
      Array.from({ length: this.numLocalReplicas }, (_, index) =>
        make(new ValueContext({ replicaIdInSyncGroup: firstReplica + index, numReplicasInSync })),
      ),
    );
  }

  /** The input pipeline that this process reads. There is one per worker. */
  get inputContext(): InputContext {
    return new InputContext({ numReplicasInSync: this.numReplicasInSync });
  }

  /**
   * Splits the batches of a dataset, which have the global batch size, across the replicas: each
   * step has a `PerReplica` in place of each batch. Parts are as even as possible, larger ones
   * first. A batch of another size, such as the last one, is split into parts of its size divided
   * by the number of replicas, rounded up, until no items are left; later replicas may get smaller
   * or empty parts. Several workers end each reading together: those whose source has ended get
   * empty parts.
   * @throws ValueError for an invalid dataset or options, and, while reading, for an element that
   * cannot be split; NotImplementedError for the replication mode PER_REPLICA; RuntimeError inside
   * a replica or another strategy's scope
   */
  experimentalDistributeDataset<Element>(
    dataset: DatasetLike<Element>,
    options?: InputOptionsInit,
  ): DistributedDataset<Distributed<Element>> {
    return countingRefusals(this, () => {
      requireCrossReplica(this, 'experimentalDistributeDataset');
      const { workers, workerDevices } = this.extended;
      return distributeDataset(dataset, this.inputContext, workerDevices, options, readersIn(workers));
    });
  }

  /**
   * The dataset that a function creates for an input pipeline. Its batches have the size for one
   * replica, and each step takes one element per replica. If too few elements are left for the last
   * step, the last replicas get empty batches, as do workers whose source has ended before those of
   * others.
   * @throws ValueError for invalid options, and a result that is not a dataset; RuntimeError inside
   * a replica or another strategy's scope; the error that the function throws
   */
  distributeDatasetsFromFunction<Element>(
    make: DatasetFunction<Element>,
    options?: InputOptionsInit,
  ): DistributedDataset<Distributed<Element>> {
    return countingRefusals(this, () => {
      requireCrossReplica(this, 'distributeDatasetsFromFunction');
      const { workers, workerDevices } = this.extended;
      return distributeDatasetsFromFunction(make, this.inputContext, workerDevices, options, readersIn(workers));
    });
  }

  /**
   * Like `distributeDatasetsFromFunction`. The first use logs a warning.
   * @deprecated The old name of `distributeDatasetsFromFunction`.
   */
  experimentalDistributeDatasetsFromFunction<Element>(
    make: DatasetFunction<Element>,
    options?: InputOptionsInit,
  ): DistributedDataset<Distributed<Element>> {
    logDeprecated('experimentalDistributeDatasetsFromFunction', 'distributeDatasetsFromFunction');
    return this.distributeDatasetsFromFunction(make, options);
  }

  /**
   * Like `experimentalLocalResults`. The first use logs a warning.
   * @deprecated The old name of `experimentalLocalResults`.
   */
  unwrap<T>(value: T): readonly LocalResult<T>[] {
    logDeprecated('unwrap', 'experimentalLocalResults');
    return this.experimentalLocalResults(value);
  }

  /**
   * Like `run`. The first use logs a warning.
   * @deprecated The old name of `run`.
   */
  experimentalRunV2<Args extends readonly unknown[], Result>(
    replica: ReplicaCode<Args, Result>,
    ...options: RunOptionsOf<NoInfer<Args>>
  ): Promise<Regrouped<Awaited<Result>>> {
    logDeprecated('experimentalRunV2', 'run');
    return this.run(replica, ...options);
  }

  async #reduceAcross(op: ReduceOp, value: unknown, call: CallOptions): Promise<Structure<unknown>> {
    const reduced = await this.extended.reduceTo(op, value, this.extended.defaultDevice, call);
    // An already mirrored value is returned unchanged; its first component is the result.
    const [first] = this.experimentalLocalResults(reduced);
    return mapStructure(first as Structure<unknown>, (leaf) => {
      // Copies the value, because a variable's component may change later.
      const value = leaf instanceof Variable ? leaf.read() : leaf;
      return op === ReduceOp.MEAN ? trueMean(value) : value;
    });
  }
}

/**
 * The lower-level methods of a strategy, for optimizers and libraries. Most of them require
 * cross-replica context and throw a RuntimeError inside replicas.
 *
 * @example
 * ```ts
 * import { isTensor } from '@coll/core';
 * import { MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
 * const { extended } = strategy;
 * const value = strategy.experimentalDistributeValuesFromFunction(
 *   ({ replicaIdInSyncGroup }) => new Float32Array([replicaIdInSyncGroup]),
 * );
 * const mean = await extended.reduceTo('mean', value, 'cpu:0');
 * console.log(isTensor(mean) && mean.data); // Float32Array(1) [ 0.5 ]
 * ```
 */
export abstract class StrategyExtended extends ExtendedMethods {
  protected readonly strategy: Strategy;

  constructor(strategy: Strategy, workerDevices: readonly string[], ops: () => Promise<CrossDeviceOps>) {
    super(workerDevices, ops);
    this.strategy = strategy;
  }

  /** Runs a function on every replica, like `run`. */
  callForEachReplica<Args extends readonly unknown[], Result>(
    replica: ReplicaCode<Args, Result>,
    ...options: RunOptionsOf<NoInfer<Args>>
  ): Promise<Regrouped<Awaited<Result>>> {
    return this.strategy.run(replica, ...options);
  }
}

/** Whether `scope` was called with a function. @throws ValueError for anything else */
export function requireCode<Code>(code: Code | undefined): code is Code {
  if (code !== undefined) requireFunction(code, 'scope: code');
  return code !== undefined;
}

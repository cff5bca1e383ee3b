import {
  asTensor,
  DistributedValues,
  divide,
  mapStructure,
  PerReplica,
  ReduceOp,
  type ReduceOpLike,
  reduceOpFrom,
  regroup,
  type Structure,
  type Tensor,
  ValueError,
} from '@coll/core';
import { axesOf, requireDivisible, requireSummable, sizeAlong, sumAlong } from './axis-sum.js';
import { enterScope, requireCrossReplica, runInScope } from './contexts.js';
import type { StrategyExtended } from './extended.js';
import type { ReplicaContext } from './replica-context.js';

/** One of the values that a replica starts with. */
export interface ValueContext {
  readonly replicaIdInSyncGroup: number;
  readonly numReplicasInSync: number;
}

export type ReplicaFunction<Args extends readonly unknown[] = readonly unknown[], Result = unknown> = (
  context: ReplicaContext,
  ...args: Args
) => Result | Promise<Result>;

export interface RunOptions {
  /** What each replica's function gets after its context; of distributed values, its component. */
  readonly args?: readonly unknown[];
  /** For a module: the name of the exported function. Default: `default`, or else `replica`. */
  readonly exportName?: string;
  /** Called with whatever a replica hands to `context.report`. */
  readonly onReport?: (replica: number, value: unknown) => void;
  /** Ends all replicas, in this thread as soon as they wait for each other; `run` rejects with `AbortedError` at once. */
  readonly signal?: AbortSignal;
}

/** What is done on several replicas, and how their values come together. */
export abstract class Strategy {
  /** The lower-level methods, for optimizers and libraries. */
  abstract readonly extended: StrategyExtended;

  get numReplicasInSync(): number {
    return this.extended.workerDevices.length;
  }

  /**
   * Runs code in cross-replica context; without code, until the returned object is disposed of (`using scope = strategy.scope()`).
   * @throws RuntimeError inside a replica or another strategy's scope
   */
  scope(): Disposable;
  scope<Result>(code: () => Result): Result;
  scope<Result>(code?: () => Result): Result | Disposable {
    return code ? runInScope(this, code) : enterScope(this);
  }

  /**
   * Runs a function, or a module in a thread a replica, once on every replica, and regroups the results: bare where all are identical,
   * `PerReplica` otherwise.
   * @throws ValueError for arguments of the wrong kind; an error of a replica, with the replica's number in its message
   */
  abstract run(replica: ReplicaFunction<never> | URL, options?: RunOptions): Promise<Structure<unknown>>;

  /**
   * Combines a value over all replicas into one tensor on the first device. With axes, each replica first sums along them;
   * a mean then weighs every element alike, so replicas may have batches of different sizes.
   * @throws WrongTypeError for other ops than SUM and MEAN with an axis, or an axis that is no integer; ValueError for one out of range
   */
  async reduce(
    reduceOp: ReduceOpLike,
    value: unknown,
    axis: number | readonly number[] | null | undefined,
  ): Promise<Structure<unknown>> {
    requireCrossReplica(this, 'reduce');
    const op = reduceOpFrom(reduceOp);
    if (axis === undefined || axis === null) return this.#reduceAcross(op, value);
    requireSummable(op, axis);
    const components = this.#components(value).map((component) => asTensor(component));
    if (op === ReduceOp.MEAN) requireDivisible(components);
    const sums = components.map((component) => sumAlong(component, axis));
    const total = (await this.#reduceAcross(ReduceOp.SUM, regroup(sums))) as Tensor;
    if (op === ReduceOp.SUM) return total;
    const count = components.reduce((sum, component) => sum + sizeAlong(component, axesOf(component, axis)), 0);
    return divide(total, count);
  }

  /** The components of a value joined along an axis, in replica order, on the first device. */
  async gather(value: unknown, axis: number): Promise<Tensor> {
    requireCrossReplica(this, 'gather');
    return this.extended.gatherTo(value, this.extended.defaultDevice, axis) as Promise<Tensor>;
  }

  /** The components of a value, one a replica that lives here; of a structure, one structure a replica; a bare value is the only one. */
  experimentalLocalResults(value: unknown): readonly unknown[] {
    const distributed = findDistributed(value);
    if (!distributed) return [value];
    return distributed.values.map((_, replica) =>
      mapStructure(value as Structure<unknown>, (leaf) =>
        leaf instanceof DistributedValues ? leaf.values[replica] : leaf,
      ),
    );
  }

  /** `PerReplica` of what the function returns for each replica, also where all are identical. */
  experimentalDistributeValuesFromFunction<T>(make: (context: ValueContext) => T): PerReplica<T> {
    requireCrossReplica(this, 'experimentalDistributeValuesFromFunction');
    const numReplicasInSync = this.numReplicasInSync;
    return new PerReplica(
      Array.from({ length: numReplicasInSync }, (_, replica) =>
        make({ replicaIdInSyncGroup: replica, numReplicasInSync }),
      ),
    );
  }

  async #reduceAcross(op: ReduceOp, value: unknown): Promise<Structure<unknown>> {
    const reduced = await this.extended.reduceTo(op, value, this.extended.defaultDevice);
    // What is mirrored already comes back as it is; its first component is the result.
    return this.experimentalLocalResults(reduced)[0] as Structure<unknown>;
  }

  /** One a replica: a value that is not distributed is what every replica has. */
  #components(value: unknown): readonly unknown[] {
    if (findDistributed(value)) return this.experimentalLocalResults(value);
    return Array.from({ length: this.numReplicasInSync }, () => value);
  }
}

/** @throws ValueError unless the arguments of a replica function are a list */
export function requireArguments(args: unknown): asserts args is readonly unknown[] {
  if (!Array.isArray(args))
    throw new ValueError('ERR_COLL_VALUE', 'run: positional args must be a list: { args: [first, second] }');
}

/** The first distributed value in a structure. */
export function findDistributed(structure: unknown): DistributedValues | undefined {
  let found: DistributedValues | undefined;
  mapStructure(structure as Structure<unknown>, (leaf) => {
    if (leaf instanceof DistributedValues) found ??= leaf;
  });
  return found;
}

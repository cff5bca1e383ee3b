import {
  type CallOptions,
  canonicalize,
  type Destinations,
  DistributedValues,
  NotImplementedError,
  PerReplica,
  type PossiblyMirrored,
  type ReducedOnDevices,
  type ReduceOpLike,
  RuntimeError,
  type Structure,
  type Value,
} from '@coll/core';
import { mapStructure, optionsOf, requireDense, requireFunction, resolveWithoutInto } from '@coll/core/internal';
import type { DatasetLike } from '../data/dataset.js';
import type { DatasetFunction } from '../data/datasets-from-function.js';
import type { Distributed, DistributedDataset } from '../data/distributed-dataset.js';
import { type InputOptionsInit, requireInputOptions } from '../data/input-options.js';
import { localVariable } from '../distributed-variables/create-variable.js';
import { updateRegroup } from '../distributed-variables/update-variable.js';
import { requireModule, requireNoThreads } from '../replicas/replica-code.js';
import { currentFrame, mixing, requireCrossReplica } from '../scope/contexts.js';
import { findDistributed, requirePairs, strategyOp } from '../scope/placed-values.js';
import { argumentsOf, type RunOptions } from '../scope/run-options.js';
import { type ReplicaCode, type ReplicaContext, requireCode, Strategy, StrategyExtended } from '../scope/strategy.js';
import type { LocalResult, ReducedTo } from '../scope/structure-types.js';
import { requireUpdate, type UpdateFunction, type UpdateOptions } from '../variables/update-options.js';
import { Variable } from '../variables/variable.js';
import { type VariableOptions, type VariableValue, variableOptions } from '../variables/variable-options.js';
import { DefaultReplicaContext } from './default-replica-context.js';

/** The strategy outside of all scopes: a single replica. */
class DefaultStrategy extends Strategy {
  readonly extended: StrategyExtended = new DefaultExtended(this, [], () =>
    Promise.reject(noDevices('crossDeviceOps')),
  );

  override get numReplicasInSync(): number {
    return 1;
  }

  override scope(): Disposable;
  override scope<Result>(code: () => Result): Result;
  override scope<Result>(code?: () => Result): Result | Disposable {
    const frame = currentFrame();
    if (frame && frame.strategy !== this) {
      throw new RuntimeError(
        'ERR_COLL_CONTEXT',
        'the scope of the default strategy must not be nested inside the scope of another strategy',
      );
    }
    return requireCode(code) ? code() : { [Symbol.dispose]: () => {} };
  }

  override experimentalLocalResults<T>(value: T): readonly LocalResult<T>[] {
    return [onlyComponents(value) as LocalResult<T>];
  }

  /** Returns the dataset unchanged. */
  override experimentalDistributeDataset<Element>(
    dataset: DatasetLike<Element>,
    options?: InputOptionsInit,
  ): DistributedDataset<Distributed<Element>> {
    requireCrossReplica(this, 'experimentalDistributeDataset');
    requireInputOptions(options);
    return dataset as never;
  }

  /** Returns the function's result unchanged. */
  override distributeDatasetsFromFunction<Element>(
    make: DatasetFunction<Element>,
    options?: InputOptionsInit,
  ): DistributedDataset<Distributed<Element>> {
    requireCrossReplica(this, 'distributeDatasetsFromFunction');
    requireInputOptions(options);
    requireFunction(make, 'distributeDatasetsFromFunction: make');
    return make(this.inputContext) as never;
  }

  protected override async runReplicas(
    replica: ReplicaCode<never, unknown>,
    options: RunOptions = {},
  ): Promise<unknown> {
    const frame = currentFrame();
    if (frame) throw mixing(this, 'run', frame.strategy);
    const args = argumentsOf(options);
    if (replica instanceof URL) {
      throw new RuntimeError(
        'ERR_COLL_CONTEXT',
        'run: the default strategy has no threads to run a module in; create a MirroredStrategy',
      );
    }
    if (typeof replica !== 'function') requireModule(replica);
    requireNoThreads(options);
    return await replica(defaultReplica, ...(args.map(onlyComponents) as never));
  }
}

/**
 * The lower-level methods of the default strategy. With its single replica, the result of a
 * reduction or gather is the value itself.
 */
class DefaultExtended extends StrategyExtended {
  override get workerDevices(): never {
    throw noDevices('workerDevices');
  }

  override reduceTo<const V, Op extends ReduceOpLike>(
    reduceOp: Op,
    value: V,
    destinations: Destinations,
    options?: CallOptions,
  ): Promise<ReducedTo<V, Op>>;
  override async reduceTo(
    reduceOp: ReduceOpLike,
    value: unknown,
    _destinations?: Destinations,
    options?: CallOptions,
  ): Promise<Structure<unknown>> {
    requireCrossReplica(this.strategy, 'reduceTo');
    strategyOp(reduceOp);
    resolveWithoutInto(options);
    return onlyComponents(value) as Structure<unknown>;
  }

  override batchReduceTo<Pair extends readonly [value: unknown, destinations: Destinations], Op extends ReduceOpLike>(
    reduceOp: Op,
    pairs: Iterable<Pair>,
    options?: CallOptions,
  ): Promise<PossiblyMirrored<ReducedOnDevices<Pair[0], Op>>[]>;
  override async batchReduceTo(
    reduceOp: ReduceOpLike,
    pairs: Iterable<readonly [value: unknown, destinations: Destinations]>,
    options?: CallOptions,
  ): Promise<PossiblyMirrored[]> {
    requireCrossReplica(this.strategy, 'batchReduceTo');
    strategyOp(reduceOp);
    resolveWithoutInto(options);
    return requirePairs(pairs).map(([value]) => onlyComponents(value) as Value);
  }

  override async broadcastTo(value: unknown, destinations?: Destinations): Promise<PossiblyMirrored | number> {
    requireCrossReplica(this.strategy, 'broadcastTo');
    if (destinations === undefined) return onlyComponents(value) as Value;
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      'broadcastTo with destinations needs a strategy other than the default one',
    );
  }

  override createVariable(initial: VariableValue, options?: VariableOptions): Variable {
    return localVariable(initial, optionsOf(options, "{ name: 'weights' }", variableOptions), canonicalize('cpu:0'));
  }

  override async update(variable: unknown, fn: UpdateFunction, options: UpdateOptions = {}): Promise<unknown> {
    requireCrossReplica(this.strategy, 'update');
    requireUpdate(fn, options);
    const { args = [], kwargs, group = true } = options;
    const result = await fn(variable as never, ...([...args, ...(kwargs ? [kwargs] : [])] as never[]));
    return group ? result : updateRegroup(this.strategy, [result as Structure<unknown>], group);
  }

  override variableCreatedInScope(variable: unknown): boolean {
    return variable instanceof Variable && !(this.valueContainer(variable) instanceof DistributedValues);
  }

  override async gatherTo(
    value: unknown,
    _destinations?: Destinations,
    _axis?: number,
    options?: CallOptions,
  ): Promise<PossiblyMirrored> {
    requireCrossReplica(this.strategy, 'gatherTo');
    resolveWithoutInto(options);
    const component = onlyComponents(value);
    requireDense([component], 'gather');
    return component as Value;
  }
}

/**
 * Replaces each `PerReplica` of one component, as made by
 * `experimentalDistributeValuesFromFunction`, by that component.
 */
function onlyComponents(structure: unknown): unknown {
  if (!findDistributed(structure)) return structure;
  return mapStructure(structure as Structure<unknown>, (leaf) =>
    leaf instanceof PerReplica && leaf.values.length === 1 ? leaf.values[0] : leaf,
  );
}

function noDevices(what: string): RuntimeError {
  return new RuntimeError(
    'ERR_COLL_CONTEXT',
    `the default strategy does not support ${what}; enter the scope of a strategy, or call the method on a strategy`,
  );
}

export const defaultStrategy: Strategy = new DefaultStrategy();
export const defaultReplica: ReplicaContext = new DefaultReplicaContext(defaultStrategy);

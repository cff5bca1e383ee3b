import {
  type ArrivingValue,
  type CallOptions,
  canonicalize,
  copyToDevice,
  type Destinations,
  DistributedValues,
  type DType,
  flatten,
  isArriving,
  NotImplementedError,
  type PossiblyMirrored,
  packLike,
  prepareArriving,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  RuntimeError,
  reduceArriving,
  reduceOpFrom,
  type Structure,
  type Tensor,
  type TensorLike,
  type Value,
  zeros,
} from '@coll/core';
import { currentFrame, mixing, requireCrossReplica, requireReplica, runAcross } from './contexts.js';
import type { DatasetLike } from './data/dataset.js';
import type { DatasetFunction } from './data/datasets-from-function.js';
import type { Distributed, DistributedDataset } from './data/distributed-dataset.js';
import { StrategyExtended } from './extended.js';
import { strategyOp } from './placed-values.js';
import type { MergeFunction, ReplicaContext } from './replica-context.js';
import {
  denseRequest,
  type ReplicaRequest,
  reducedAlone,
  reduceRequest,
  requireDense,
  requireMergeCall,
  requireRoot,
} from './replica-request.js';
import { argumentsOf, type ReplicaCode, type RunOptions, Strategy } from './strategy.js';
import type { LocalResult, Reduced, ReducedLater, Regrouped } from './structure-types.js';
import { localVariable } from './variables/create-variable.js';
import { type UpdateFunction, type UpdateOptions, updateRegroup } from './variables/update-variable.js';
import { Variable } from './variables/variable.js';
import type { VariableOptions, VariableValue } from './variables/variable-options.js';

/** What holds where no strategy is in charge: one replica, to which everything belongs that is not in a scope. */
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
        'Must not nest the scope of the default strategy inside that of another one',
      );
    }
    return code ? code() : { [Symbol.dispose]: () => {} };
  }

  override experimentalLocalResults<T>(value: T): readonly LocalResult<T>[] {
    return [value as LocalResult<T>];
  }

  /** The dataset as it is. */
  override experimentalDistributeDataset<Element>(
    dataset: DatasetLike<Element>,
  ): DistributedDataset<Distributed<Element>> {
    requireCrossReplica(this, 'experimentalDistributeDataset');
    return dataset as never;
  }

  /** What the function returns, as it is. */
  override distributeDatasetsFromFunction<Element>(
    make: DatasetFunction<Element>,
  ): DistributedDataset<Distributed<Element>> {
    requireCrossReplica(this, 'distributeDatasetsFromFunction');
    return make(this.inputContext) as never;
  }

  async run<Args extends readonly unknown[], Result>(
    replica: ReplicaCode<Args, Result>,
    options: RunOptions = {},
  ): Promise<Regrouped<Awaited<Result>>> {
    const frame = currentFrame();
    if (frame) throw mixing(this, 'run', frame.strategy);
    const args = argumentsOf(options);
    if (replica instanceof URL) {
      throw new RuntimeError(
        'ERR_COLL_CONTEXT',
        'run: the default strategy has no threads for a module; make a MirroredStrategy',
      );
    }
    return (await replica(defaultReplica, ...(args as never))) as Regrouped<Awaited<Result>>;
  }
}

/** The values of one replica are already what reducing and gathering would give. */
class DefaultExtended extends StrategyExtended {
  override get workerDevices(): never {
    throw noDevices('workerDevices');
  }

  override async reduceTo(reduceOp: ReduceOpLike, value: unknown): Promise<Structure<unknown>> {
    requireCrossReplica(this.strategy, 'reduceTo');
    strategyOp(reduceOp);
    return value as Structure<unknown>;
  }

  override async batchReduceTo(
    reduceOp: ReduceOpLike,
    pairs: Iterable<readonly [value: unknown, destinations: Destinations]>,
  ): Promise<PossiblyMirrored[]> {
    requireCrossReplica(this.strategy, 'batchReduceTo');
    strategyOp(reduceOp);
    return Array.from(pairs, ([value]) => value as Value);
  }

  override async broadcastTo(value: unknown, destinations?: Destinations): Promise<PossiblyMirrored | number> {
    requireCrossReplica(this.strategy, 'broadcastTo');
    if (destinations === undefined) return value as Value;
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      'broadcastTo with destinations needs a strategy other than the default one',
    );
  }

  override createVariable(initial: VariableValue, options: VariableOptions = {}): Variable {
    return localVariable(initial, options, canonicalize('cpu:0'));
  }

  override async update(
    variable: unknown,
    fn: UpdateFunction,
    { args = [], kwargs, group = true }: UpdateOptions = {},
  ): Promise<unknown> {
    requireCrossReplica(this.strategy, 'update');
    const result = await fn(variable as never, ...([...args, ...(kwargs ? [kwargs] : [])] as never[]));
    return group ? result : updateRegroup(this.strategy, [result as Structure<unknown>], group);
  }

  override colocateVarsWith(variable: unknown): Disposable;
  override colocateVarsWith<Result>(variable: unknown, code: () => Result): Result;
  override colocateVarsWith<Result>(_variable: unknown, code?: () => Result): Result | Disposable {
    return code ? this.strategy.scope(code) : this.strategy.scope();
  }

  override variableCreatedInScope(variable: unknown): boolean {
    return variable instanceof Variable && !(this.valueContainer(variable) instanceof DistributedValues);
  }

  override async gatherTo(value: unknown): Promise<PossiblyMirrored> {
    requireCrossReplica(this.strategy, 'gatherTo');
    requireDense([value], 'gather');
    return value as Value;
  }
}

/** The one replica of the default strategy: everything it does with the others, it does alone. */
class DefaultReplicaContext implements ReplicaContext {
  readonly strategy: Strategy = defaultStrategy;
  readonly numReplicasInSync = 1;
  readonly replicaIdInSyncGroup = 0;
  readonly devices: readonly [string] = ['cpu:0'];
  readonly canBlock = true;

  allReduce<const T extends ReplicaValue>(
    op: ReduceOpLike,
    value: T,
    options?: ReplicaCallOptions,
  ): Promise<Reduced<T>>;
  allReduce<const T extends ArrivingValue>(op: ReduceOpLike, value: T, options?: ReplicaCallOptions): ReducedLater<T>;
  allReduce(op: ReduceOpLike, value: ArrivingValue, options?: ReplicaCallOptions): unknown {
    if (!isArriving(value)) return (async () => this.allReduceSync(op, value as ReplicaValue, options))();
    this.#requireHere('allReduce');
    const call = prepareArriving(reduceOpFrom(op), value, options, this.devices[0]);
    const { results, ended } = reduceArriving(call.leaves, {
      ...call,
      rank: 0,
      reduce: async (indices, values) => {
        const request = reduceRequest(op, values, this.devices[0], call.optionsFor(indices, values));
        return flatten(request.finish(request.values.map((item) => reducedAlone(request, item))));
      },
      fail: () => {},
    });
    ended.catch(() => {});
    return packLike(value, results);
  }

  allReduceSync<const T extends ReplicaValue>(op: ReduceOpLike, value: T, options?: ReplicaCallOptions): Reduced<T> {
    this.#requireHere('allReduce');
    const request = reduceRequest(op, value, this.devices[0], options);
    return request.finish(request.values.map((item) => reducedAlone(request, item))) as Reduced<T>;
  }

  async allGather<const T extends ReplicaValue>(value: T, _axis: number, options?: CallOptions): Promise<Reduced<T>> {
    this.#requireHere('allGather');
    return this.#copies<T>(denseRequest('all-gather', value, this.devices[0], options));
  }

  async broadcast<const T extends Structure<TensorLike>>(
    value: T,
    root?: number,
    options?: ReplicaCallOptions,
  ): Promise<Reduced<T>> {
    return this.broadcastSync<T>(value, root, options);
  }

  broadcastSync<const T extends Structure<TensorLike>>(value: T, root = 0, options?: ReplicaCallOptions): Reduced<T> {
    this.#requireHere('broadcast');
    requireRoot(root, this.numReplicasInSync);
    return this.#copies<T>(denseRequest('broadcast', value, this.devices[0], options));
  }

  allocate(dtype: DType, shape: readonly number[]): Tensor {
    return zeros(dtype, shape, this.devices[0]);
  }

  async mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: readonly unknown[],
    kwargs?: Readonly<Record<string, unknown>>,
  ): Promise<Result> {
    this.#requireHere('mergeCall');
    const list = requireMergeCall(fn, args, kwargs);
    return runAcross(this.strategy, () => fn(this.strategy, ...list));
  }

  report(): void {}

  #copies<T>(request: ReplicaRequest): Reduced<T> {
    return request.finish(request.values.map((item) => copyToDevice(item, item.device))) as Reduced<T>;
  }

  #requireHere(method: string): void {
    if (currentFrame()) requireReplica(this, method);
  }
}

function noDevices(what: string): RuntimeError {
  return new RuntimeError(
    'ERR_COLL_CONTEXT',
    `${what} is not there for the default strategy; enter the scope of a strategy, or call the method on one`,
  );
}

export const defaultStrategy: Strategy = new DefaultStrategy();
export const defaultReplica: ReplicaContext = new DefaultReplicaContext();

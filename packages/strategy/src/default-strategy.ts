import {
  type CallOptions,
  copyToDevice,
  type Destinations,
  NotImplementedError,
  type PossiblyMirrored,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  RuntimeError,
  reduceOpFrom,
  type Structure,
  type Tensor,
  type Value,
} from '@coll/core';
import { currentFrame, mixing, requireCrossReplica, requireReplica, runAcross } from './contexts.js';
import { StrategyExtended } from './extended.js';
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
import { type ReplicaFunction, type RunOptions, requireArguments, Strategy } from './strategy.js';

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

  override experimentalLocalResults(value: unknown): readonly unknown[] {
    return [value];
  }

  async run(replica: ReplicaFunction<never> | URL, { args = [] }: RunOptions = {}): Promise<Structure<unknown>> {
    const frame = currentFrame();
    if (frame) throw mixing(this, 'run', frame.strategy);
    requireArguments(args);
    if (replica instanceof URL) {
      throw new RuntimeError(
        'ERR_COLL_CONTEXT',
        'run: the default strategy has no threads for a module; make a MirroredStrategy',
      );
    }
    return (await replica(defaultReplica, ...(args as never))) as Structure<unknown>;
  }
}

/** The values of one replica are already what reducing and gathering would give. */
class DefaultExtended extends StrategyExtended {
  override get workerDevices(): never {
    throw noDevices('workerDevices');
  }

  override async reduceTo(reduceOp: ReduceOpLike, value: unknown): Promise<Structure<unknown>> {
    requireCrossReplica(this.strategy, 'reduceTo');
    reduceOpFrom(reduceOp);
    return value as Structure<unknown>;
  }

  override async batchReduceTo(
    reduceOp: ReduceOpLike,
    pairs: Iterable<readonly [value: unknown, destinations: Destinations]>,
  ): Promise<PossiblyMirrored[]> {
    requireCrossReplica(this.strategy, 'batchReduceTo');
    reduceOpFrom(reduceOp);
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

  async allReduce(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Promise<Structure<Value>> {
    return this.allReduceSync(op, value, options);
  }

  allReduceSync(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Structure<Value> {
    this.#requireHere('allReduce');
    const request = reduceRequest(op, value, this.devices[0], options);
    return request.finish(request.values.map((item) => reducedAlone(request.op, item)));
  }

  async allGather(value: ReplicaValue, _axis: number, options?: CallOptions): Promise<Structure<Tensor>> {
    this.#requireHere('allGather');
    return this.#copies(denseRequest('all-gather', value, this.devices[0], options));
  }

  async broadcast(value: ReplicaValue, root?: number, options?: ReplicaCallOptions): Promise<Structure<Tensor>> {
    return this.broadcastSync(value, root, options);
  }

  broadcastSync(value: ReplicaValue, root = 0, options?: ReplicaCallOptions): Structure<Tensor> {
    this.#requireHere('broadcast');
    requireRoot(root, this.numReplicasInSync);
    return this.#copies(denseRequest('broadcast', value, this.devices[0], options));
  }

  async mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: Args,
  ): Promise<Result> {
    this.#requireHere('mergeCall');
    const list = requireMergeCall(fn, args);
    return runAcross(this.strategy, () => fn(this.strategy, ...list));
  }

  report(): void {}

  #copies(request: ReplicaRequest): Structure<Tensor> {
    return request.finish(request.values.map((item) => copyToDevice(item, item.device))) as Structure<Tensor>;
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

import {
  type ArrivingValue,
  type CallOptions,
  type DType,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  type Structure,
  type Tensor,
  type Value,
  zeros,
} from '@coll/core';
import { flatten, packLike, prepareArriving, reduceArriving } from '@coll/core/internal';
import { copyToDevice, reduceOpFrom } from '@coll/core/plugin';
import { currentFrame, requireReplica, runAcross } from './contexts.js';
import { ReducingReplica } from './reducing-replica.js';
import type { MergeFunction, ReplicaContext } from './replica-context.js';
import {
  denseRequest,
  type ReduceRequest,
  type ReplicaRequest,
  reducedAlone,
  reduceRequest,
  requireMergeCall,
  requireRoot,
} from './replica-request.js';
import type { Strategy } from './strategy.js';
import type { Movable, Reduced, Reducible } from './structure-types.js';

/** The one replica of the default strategy: everything it does with the others, it does alone. */
export class DefaultReplicaContext extends ReducingReplica implements ReplicaContext {
  readonly strategy: Strategy;
  readonly numReplicasInSync = 1;
  readonly replicaIdInSyncGroup = 0;
  readonly devices: readonly [string] = ['cpu:0'];
  readonly canBlock = true;

  constructor(strategy: Strategy) {
    super();
    this.strategy = strategy;
  }

  protected async reduceReady(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Promise<unknown> {
    return this.allReduceSync(op, value, options);
  }

  protected reduceArriving(op: ReduceOpLike, value: ArrivingValue, options?: ReplicaCallOptions): unknown {
    this.#requireHere('allReduce');
    const call = prepareArriving(reduceOpFrom(op), value, options, this.devices[0]);
    const { results } = reduceArriving(call.leaves, {
      ...call,
      rank: 0,
      reduce: async (indices, values) => {
        const request = reduceRequest(op, values, this.devices[0], call.optionsFor(indices, values));
        return flatten(reduced(request));
      },
      fail: () => {},
    });
    return packLike(value, results);
  }

  allReduceSync<const T extends Reducible<T>>(op: ReduceOpLike, value: T, options?: ReplicaCallOptions): Reduced<T> {
    this.#requireHere('allReduce');
    return reduced(reduceRequest(op, value, this.devices[0], options)) as Reduced<T>;
  }

  async allGather<const T extends Reducible<T>>(value: T, _axis: number, options?: CallOptions): Promise<Reduced<T>> {
    this.#requireHere('allGather');
    return this.#copies<T>(denseRequest('all-gather', value, this.devices[0], options));
  }

  async broadcast<const T extends Movable<T>>(
    value: T,
    root?: number,
    options?: ReplicaCallOptions,
  ): Promise<Reduced<T>> {
    return this.broadcastSync<T>(value, root, options);
  }

  broadcastSync<const T extends Movable<T>>(value: T, root = 0, options?: ReplicaCallOptions): Reduced<T> {
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

function reduced(request: ReduceRequest): Structure<Value> {
  return request.finish(request.values.map((value) => reducedAlone(request, value)));
}

import {
  type CrossDeviceOps,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  RuntimeError,
  type Structure,
  type Tensor,
  type TensorLike,
  type Value,
} from '@coll/core';
import { copyToDevice, reduceOpFrom } from '@coll/core/plugin';
import { denseRequest, reducedAlone, reduceRequest } from './replica-request.js';
import type { Strategy } from './strategy.js';

/** Of a replica that has its thread for itself: its calls may block that, since the others are in other processes. */
export class BlockingCalls {
  readonly #strategy: Strategy;
  readonly #ops: CrossDeviceOps | undefined;

  /** `ops` are those of the replicas of all workers; undefined where there is one replica in all. */
  constructor(strategy: Strategy, ops: CrossDeviceOps | undefined) {
    this.#strategy = strategy;
    this.#ops = ops;
  }

  allReduce(op: ReduceOpLike, value: ReplicaValue, options: ReplicaCallOptions | undefined): Structure<Value> {
    const { firstReplica } = this.#strategy.extended;
    if (this.#ops) return this.#ops.allReduceSync(reduceOpFrom(op), value, firstReplica, options);
    const request = reduceRequest(op, value, this.#device, options);
    return request.finish(request.values.map((item) => reducedAlone(request, item)));
  }

  broadcast(value: Structure<TensorLike>, root: number, options: ReplicaCallOptions | undefined): Structure<Value> {
    const { workers } = this.#strategy.extended;
    const request = denseRequest('broadcast', value, this.#device, options);
    const ofRoot = (item: Value) => workers.broadcastSync(item as Tensor, root, request.call);
    return request.finish(request.values.map((item) => copyToDevice(ofRoot(item), this.#device)));
  }

  get #device(): string {
    return this.#strategy.extended.workerDevices[0] as string;
  }
}

/** For a call that must not block; `instead` is its twin. */
export function refuseBlocking(method: string, instead: string): never {
  const cure = `await ${instead}(...), or run the replicas in worker threads: strategy.run(new URL('./replica.js', import.meta.url))`;
  throw new RuntimeError('ERR_COLL_CONTEXT', `${method} would block the thread that all replicas share: ${cure}`, {
    operation: method,
  });
}

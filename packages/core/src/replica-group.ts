import type { CallOptions } from './call-options.js';
import type { CollectiveOp } from './collective.js';
import type { Communicator } from './communicator.js';
import type { World } from './plugin.js';
import type { ReduceOp } from './reduce-op.js';
import {
  prepare,
  prepareDense,
  type ReplicaCallOptions,
  type ReplicaValue,
  refuseSharedResult,
  requireLocal,
} from './replica-call.js';
import { ReplicaCollectives } from './replica-collectives.js';
import type { Algorithm } from './schedule/schedule.js';
import type { Value } from './sparse.js';
import { packLike, type Structure } from './structure.js';
import type { Tensor } from './tensor.js';

/** Collectives from inside the replicas of a world: each hands in its own value and gets its own result. */
export interface ReplicaGroup {
  readonly engine: string;
  allReduce(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>>;
  allReduceSync(op: ReduceOp, value: ReplicaValue, replicaId: number, options?: ReplicaCallOptions): Structure<Value>;
  allGather(value: ReplicaValue, axis: number, options?: CallOptions): Promise<Structure<Tensor>>;
  broadcast(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Promise<Structure<Tensor>>;
  broadcastSync(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Structure<Tensor>;
  close(): Promise<void>;
}

/** One replica here, the others elsewhere: its communicator meets theirs. Values and results are on the replica's device. */
export class RemoteReplicaGroup implements ReplicaGroup {
  readonly engine: string;
  readonly #replica: number;
  readonly #device: string;
  readonly #communicator: Communicator;
  readonly #collectives: ReplicaCollectives;

  constructor(world: World, algorithm: Algorithm) {
    this.engine = world.engine;
    this.#replica = world.localRanks[0] as number;
    this.#device = world.devices[this.#replica] as string;
    this.#communicator = world.communicator(algorithm);
    this.#collectives = new ReplicaCollectives(this.#communicator);
  }

  async allReduce(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>> {
    requireLocal(replicaId, [this.#replica]);
    const call = prepare(op, value, options, this.#device);
    refuseSharedResult(call);
    return packLike(
      value,
      await this.#collectives.run(this.#collectives.allReduce(collectiveOp(op), call.values, call), call.run),
    );
  }

  allReduceSync(op: ReduceOp, value: ReplicaValue, replicaId: number, options?: ReplicaCallOptions): Structure<Value> {
    requireLocal(replicaId, [this.#replica]);
    const call = prepare(op, value, options, this.#device);
    refuseSharedResult(call);
    return packLike(
      value,
      this.#collectives.runSync(this.#collectives.allReduce(collectiveOp(op), call.values, call), call.run),
    );
  }

  async allGather(value: ReplicaValue, axis: number, options?: CallOptions): Promise<Structure<Tensor>> {
    const call = prepareDense(value, options, this.#device);
    refuseSharedResult(call);
    return packLike(value, await this.#collectives.run(this.#collectives.allGather(call.values, axis), call.run));
  }

  async broadcast(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Promise<Structure<Tensor>> {
    const call = prepareDense(value, options, this.#device);
    refuseSharedResult(call);
    return packLike(
      value,
      await this.#collectives.run(this.#collectives.broadcast(call.values, root, call.into), call.run),
    );
  }

  broadcastSync(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Structure<Tensor> {
    const call = prepareDense(value, options, this.#device);
    refuseSharedResult(call);
    return packLike(
      value,
      this.#collectives.runSync(this.#collectives.broadcast(call.values, root, call.into), call.run),
    );
  }

  close(): Promise<void> {
    return this.#communicator.close();
  }
}

function collectiveOp(op: ReduceOp): CollectiveOp {
  return op.toLowerCase() as CollectiveOp;
}

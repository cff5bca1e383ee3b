import type { CallOptions } from '../call-options.js';
import { collectiveOp } from '../collective.js';
import type { Communicator } from '../communicator.js';
import type { DType } from '../dtype.js';
import type { World } from '../plugins/world.js';
import type { ReduceOp } from '../reduce-op.js';
import { drive, driveSync } from '../runtime/drive.js';
import type { Algorithm } from '../schedule/schedule.js';
import { withMoves } from '../schedule/with-moves.js';
import type { Value } from '../sparse/sparse.js';
import { packLike, type Structure } from '../structure.js';
import { elementCount, requireShape, type Tensor } from '../tensor.js';
import { type ArrivingStructure, type ArrivingValue, reduceArriving } from './arriving-values.js';
import {
  prepare,
  prepareArriving,
  prepareDense,
  type ReplicaCallOptions,
  type ReplicaValue,
  refuseSharedResult,
  requireLocal,
} from './replica-call.js';
import { ReplicaCollectives, type ReplicaRouting } from './replica-collectives.js';

/** What replicas play, each in a thread or process of its own: the same on all of them. */
export interface ReplicaPlay extends ReplicaRouting {
  readonly algorithm: Algorithm;
  /** Puts a communicator of one's own in front of the engine's, which it closes with itself. */
  communicator?(size: number, engine: Communicator): Communicator;
}

/** Collectives from inside the replicas of a world: each hands in its own value and gets its own result. */
export interface ReplicaGroup {
  readonly engine: string;
  /** Combines the values of all replicas; the result has the structure of `value`. @throws OutOfRangeError for a replica that is not here */
  allReduce(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>>;
  /**
   * Combines values of which some are still computed, as promises. Each pack of `bytesPerPack` starts as soon as its values are there, last ones
   * first. Calls made from now on wait until all have ended.
   */
  allReduceArriving(
    op: ReduceOp,
    value: ArrivingValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): ArrivingStructure;
  /** `allReduce` that blocks the thread. @throws RuntimeError where replicas share it */
  allReduceSync(op: ReduceOp, value: ReplicaValue, replicaId: number, options?: ReplicaCallOptions): Structure<Value>;
  /** The values of all replicas joined along `axis`, in replica order. @throws NotImplementedError for sparse values */
  allGather(value: ReplicaValue, axis: number, options?: CallOptions): Promise<Structure<Tensor>>;
  /** The value of replica `root`, on every replica. */
  broadcast(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Promise<Structure<Tensor>>;
  /** `broadcast` that blocks the thread. @throws RuntimeError where replicas share it */
  broadcastSync(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Structure<Tensor>;
  /**
   * Zeros, on the replica's device, in memory that its engine uses without a copy; it is kept until the group is closed. Where any memory is as good, and
   * where replicas share a thread: ordinary memory.
   * @throws ValueError for a dtype or a shape that is none; CollError where the group's memory is full
   */
  allocate(dtype: DType, shape: readonly number[]): Tensor;
  /** Ends the communication of these replicas; calls made from now on are refused. */
  close(): Promise<void>;
}

/** One replica here, the others elsewhere: its communicator meets theirs. Values and results are on the replica's device. */
export class RemoteReplicaGroup implements ReplicaGroup {
  readonly engine: string;
  readonly #world: World;
  readonly #replica: number;
  readonly #device: string;
  readonly #communicator: Communicator;
  readonly #collectives: ReplicaCollectives;

  constructor(world: World, play: ReplicaPlay) {
    this.engine = world.engine;
    this.#world = world;
    this.#replica = world.localRanks[0] as number;
    this.#device = world.devices[this.#replica] as string;
    // Sparse values and first values of variables are moved, also by an algorithm that has an all-reduce only.
    const engine = world.communicator(withMoves(play.algorithm));
    this.#communicator = play.communicator?.(world.devices.length, engine) ?? engine;
    this.#collectives = new ReplicaCollectives(this.#communicator, play);
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
      await drive(this.#communicator, this.#collectives.allReduce(collectiveOp(op), call.values, call), call.run),
    );
  }

  allReduceArriving(
    op: ReduceOp,
    value: ArrivingValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): ArrivingStructure {
    requireLocal(replicaId, [this.#replica]);
    const groups = prepareArriving(op, value, options, this.#device);
    refuseSharedResult(groups);
    const turn = this.#communicator.group.order.take();
    const arriving = reduceArriving(groups.leaves, {
      ...groups,
      rank: this.#replica,
      reduce: async (indices, values) => {
        const call = prepare(op, values, groups.optionsFor(indices, values), this.#device);
        const announced = [groups.leaves.length, ...indices];
        const work = this.#collectives.allReduce(collectiveOp(op), call.values, { ...call, announced });
        await turn.begun;
        return drive(this.#communicator, work, { ...call.run, turn });
      },
      fail: ({ message }) => this.#fail(message),
      end: () => turn.end(),
    });
    return { results: packLike(value, arriving.results), ended: arriving.ended };
  }

  allReduceSync(op: ReduceOp, value: ReplicaValue, replicaId: number, options?: ReplicaCallOptions): Structure<Value> {
    requireLocal(replicaId, [this.#replica]);
    const call = prepare(op, value, options, this.#device);
    refuseSharedResult(call);
    return packLike(
      value,
      driveSync(this.#communicator, this.#collectives.allReduce(collectiveOp(op), call.values, call), call.run),
    );
  }

  async allGather(value: ReplicaValue, axis: number, options?: CallOptions): Promise<Structure<Tensor>> {
    const call = prepareDense(value, options, this.#device);
    refuseSharedResult(call);
    return packLike(
      value,
      await drive(this.#communicator, this.#collectives.allGather(call.values, axis, call.form), call.run),
    );
  }

  async broadcast(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Promise<Structure<Tensor>> {
    const call = prepareDense(value, options, this.#device);
    refuseSharedResult(call);
    return packLike(
      value,
      await drive(this.#communicator, this.#collectives.broadcast(call.values, root, call.into, call.form), call.run),
    );
  }

  broadcastSync(value: ReplicaValue, root: number, options?: ReplicaCallOptions): Structure<Tensor> {
    const call = prepareDense(value, options, this.#device);
    refuseSharedResult(call);
    return packLike(
      value,
      driveSync(this.#communicator, this.#collectives.broadcast(call.values, root, call.into, call.form), call.run),
    );
  }

  allocate(dtype: DType, shape: readonly number[]): Tensor {
    requireShape(shape);
    return { ...this.#communicator.group.allocate(dtype, elementCount(shape)), shape, device: this.#device };
  }

  close(): Promise<void> {
    return this.#communicator.close();
  }

  #fail(message: string): void {
    if (this.#world.fail) this.#world.fail(message);
    else void this.#communicator.close();
  }
}

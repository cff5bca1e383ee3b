import {
  type ArrivingValue,
  type CallOptions,
  type CollError,
  type DType,
  PerReplica,
  type ReduceOpLike,
  type ReplicaCallOptions,
  type ReplicaValue,
  RuntimeError,
  regroup,
  type Structure,
  selectReplica,
  type Tensor,
  UnavailableError,
  type Value,
  zeros,
} from '@coll/core';
import {
  flatten,
  packLike,
  prepareArriving,
  reduceArriving,
  requireAlike,
  resolveCallOptions,
} from '@coll/core/internal';
import { reduceOpFrom } from '@coll/core/plugin';
import { type BlockingCalls, refuseBlocking } from './blocking-calls.js';
import { requireReplica, runAcross } from './contexts.js';
import { copiesByDevice } from './copies-by-device.js';
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
  toldOf,
} from './replica-request.js';
import type { RunOptions, Strategy } from './strategy.js';
import type { Movable, Reduced, Reducible } from './structure-types.js';
import type { Turns } from './turns.js';

export interface LocalReplica {
  readonly strategy: Strategy;
  readonly turns: Turns;
  /** Its number among the replicas of this thread. */
  readonly place: number;
  readonly onReport: RunOptions['onReport'];
  /** Where it has the thread for itself. */
  readonly blocking?: BlockingCalls | undefined;
}

type ValueLists = readonly (readonly Value[])[];

/** A replica among others of the same thread: what it does with them is done once for all. */
export class LocalReplicaContext extends ReducingReplica implements ReplicaContext {
  readonly strategy: Strategy;
  readonly numReplicasInSync: number;
  readonly replicaIdInSyncGroup: number;
  readonly devices: readonly [string];
  readonly canBlock: boolean;
  readonly #turns: Turns;
  readonly #place: number;
  readonly #onReport: RunOptions['onReport'];
  readonly #blocking: BlockingCalls | undefined;
  /** What it has begun that is not over. */
  #underWay = 0;
  /** Until all values are there that the replica has handed in as promises. */
  #arrival: Promise<void> | undefined;

  constructor({ strategy, turns, place, onReport, blocking }: LocalReplica) {
    super();
    this.strategy = strategy;
    this.numReplicasInSync = strategy.numReplicasInSync;
    this.replicaIdInSyncGroup = strategy.extended.firstReplica + place;
    this.devices = [strategy.extended.workerDevices[place] as string];
    this.#turns = turns;
    this.#place = place;
    this.#onReport = onReport;
    this.#blocking = blocking;
    this.canBlock = blocking !== undefined;
  }

  protected reduceReady(op: ReduceOpLike, value: ReplicaValue, options?: ReplicaCallOptions): Promise<unknown> {
    const prepare = () => reduceRequest(op, value, this.devices[0], options);
    return this.#together('allReduce', prepare, (request) =>
      this.#ask(toldOf(request), request, (inputs) => this.#reduce(request, inputs)),
    );
  }

  protected reduceArriving(op: ReduceOpLike, value: ArrivingValue, options?: ReplicaCallOptions): unknown {
    requireReplica(this, 'allReduce');
    const call = prepareArriving(reduceOpFrom(op), value, options, this.devices[0]);
    const before = this.#arrival?.catch(() => {});
    let own: Promise<void> | undefined;
    const { results, ended } = reduceArriving(call.leaves, {
      ...call,
      rank: this.replicaIdInSyncGroup,
      reduce: async (indices, values) => {
        await before;
        const request = reduceRequest(op, values, this.devices[0], call.optionsFor(indices, values));
        const name = `${toldOf(request)} of values ${indices.join(', ')} of ${call.leaves.length}`;
        return flatten(await this.#ask(name, request, (inputs) => this.#reduce(request, inputs)));
      },
      fail: (error) => this.#turns.fail(error, (operation) => peerFailed(operation, error)),
      end: () => {
        if (own && this.#arrival === own) this.#arrival = undefined;
      },
    });
    own = ended;
    this.#arrival = ended;
    return packLike(value, results);
  }

  allGather<const T extends Reducible<T>>(value: T, axis: number, options?: CallOptions): Promise<Reduced<T>> {
    const prepare = () => denseRequest('all-gather', value, this.devices[0], options);
    return this.#together('allGather', prepare, (request) =>
      this.#ask(`all-gather along axis ${axis}`, request, (inputs) => this.#gather(request, axis, inputs)),
    ) as Promise<Reduced<T>>;
  }

  broadcast<const T extends Movable<T>>(value: T, root = 0, options?: ReplicaCallOptions): Promise<Reduced<T>> {
    const prepare = () => {
      requireRoot(root, this.numReplicasInSync);
      return denseRequest('broadcast', value, this.devices[0], options);
    };
    return this.#together('broadcast', prepare, (request) =>
      this.#ask(`broadcast from replica ${root}`, request, (inputs) => this.#broadcast(request, root, inputs)),
    ) as Promise<Reduced<T>>;
  }

  allReduceSync<const T extends Reducible<T>>(op: ReduceOpLike, value: T, options?: ReplicaCallOptions): Reduced<T> {
    return this.#alone('allReduceSync', 'allReduce').allReduce(op, value, options) as Reduced<T>;
  }

  broadcastSync<const T extends Movable<T>>(value: T, root = 0, options?: ReplicaCallOptions): Reduced<T> {
    const blocking = this.#alone('broadcastSync', 'broadcast');
    requireRoot(root, this.numReplicasInSync);
    return blocking.broadcast(value, root, options) as Reduced<T>;
  }

  allocate(dtype: DType, shape: readonly number[]): Tensor {
    return zeros(dtype, shape, this.devices[0]);
  }

  mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: readonly unknown[],
    kwargs?: Readonly<Record<string, unknown>>,
  ): Promise<Result> {
    const prepare = () => requireMergeCall(fn, args, kwargs);
    const hold = async (inputs: readonly unknown[]) => {
      const regrouped = regroup(inputs as readonly Structure<unknown>[]) as unknown as Args;
      const result = (await runAcross(this.strategy, () => fn(this.strategy, ...regrouped))) as Structure<unknown>;
      return inputs.map((_, place) => selectReplica(place, result));
    };
    return this.#together('mergeCall', prepare, (input) => {
      return this.#turns.join(this.#place, { name: 'mergeCall', input, hold }) as Promise<Result>;
    });
  }

  /** An exception of `onReport` is the caller's, and ends the run. */
  report(value: unknown): void {
    try {
      runAcross(this.strategy, () => this.#onReport?.(this.replicaIdInSyncGroup, value));
    } catch (error) {
      this.#turns.fail(error, () => error);
    }
  }

  /** Waits for values that are still computed, and until the calls that wait for them have begun. */
  async settle(): Promise<void> {
    if (!this.#arrival) return;
    await this.#arrival.catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** @throws RuntimeError where others share the thread, or while what this replica has begun is under way */
  #alone(method: string, instead: string): BlockingCalls {
    requireReplica(this, method);
    if (!this.#blocking) return refuseBlocking(method, instead);
    if (!this.#arrival && this.#underWay === 0) return this.#blocking;
    const told = `${method}: an asynchronous collective of this replica is still running; await it first`;
    throw new RuntimeError('ERR_COLL_BUSY', told, { operation: method, rank: this.replicaIdInSyncGroup });
  }

  /** Something that this replica does with the others, once what it hands in has been checked. */
  #together<Request, Result>(
    method: string,
    prepare: () => Request,
    act: (request: Request) => Promise<Result>,
  ): Promise<Result> {
    try {
      requireReplica(this, method);
      const request = prepare();
      // All replicas do things in the order of their calls, however long values take to arrive.
      const result = this.#counted(
        this.#arrival ? this.#arrival.catch(() => {}).then(() => act(request)) : act(request),
      );
      // A replica may end without awaiting it: what goes wrong then ends the run, and not the process.
      result.catch(() => {});
      return result;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #counted<Result>(work: Promise<Result>): Promise<Result> {
    this.#underWay += 1;
    try {
      return await work;
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Hands in values and gets as many back, once all replicas have come. */
  async #ask(
    name: string,
    request: ReplicaRequest,
    hold: (inputs: ValueLists) => Promise<ValueLists>,
  ): Promise<Structure<Value>> {
    const { options, signal } = resolveCallOptions(request.call);
    const results = await this.#turns.join(this.#place, {
      name,
      form: request.form,
      input: request.values,
      timeoutSeconds: options.timeoutSeconds,
      signal,
      // Turns have compared the forms, so all replicas hand in as many values.
      hold: (inputs) => hold(inputs as ValueLists),
    });
    return request.finish(results as readonly Value[]);
  }

  async #reduce(request: ReduceRequest, inputs: ValueLists): Promise<ValueLists> {
    // A batch of one component a value would come back as it is, without a copy.
    if (this.numReplicasInSync === 1)
      return inputs.map((values) => values.map((value) => reducedAlone(request, value)));
    const { op, call } = request;
    const pairs = perReplica(inputs).map((value) => [value, value] as const);
    const reduced = await runAcross(this.strategy, () => this.strategy.extended.batchReduceTo(op, pairs, call));
    return partsOf(inputs, reduced);
  }

  async #gather({ call }: ReplicaRequest, axis: number, inputs: ValueLists): Promise<ValueLists> {
    const { extended } = this.strategy;
    const gathered = perReplica(inputs).map((value) =>
      runAcross(this.strategy, () => extended.gatherTo(value, value, axis, call)),
    );
    return partsOf(inputs, await Promise.all(gathered));
  }

  async #broadcast({ sharedResult, call }: ReplicaRequest, root: number, inputs: ValueLists): Promise<ValueLists> {
    for (const value of perReplica(inputs)) requireAlike(value.values as readonly Tensor[], 'broadcast');
    const { workerDevices, firstReplica, workers } = this.strategy.extended;
    // Where the root is not here, any value of its shapes stands for it.
    const mine = (inputs[root - firstReplica] ?? inputs[0]) as readonly Tensor[];
    const ofRoot = await workers.broadcast(mine, Math.floor(root / workerDevices.length), call);
    return copiesByDevice(this.strategy, ofRoot, sharedResult);
  }
}

/** One `PerReplica` for each value, from one list of values a replica. */
function perReplica(lists: ValueLists): PerReplica<Value>[] {
  return (lists[0] ?? []).map((_, index) => new PerReplica(lists.map((list) => list[index] as Value)));
}

function partsOf(inputs: ValueLists, results: readonly unknown[]): ValueLists {
  return inputs.map((_, place) => results.map((item) => selectReplica(place, item as Structure<unknown>) as Value));
}

function peerFailed(operation: string, { message, rank }: CollError): UnavailableError {
  const details = rank === undefined ? { operation } : { operation, rank };
  return new UnavailableError('ERR_COLL_PEER_FAILED', `${operation}: another replica failed: ${message}`, details);
}

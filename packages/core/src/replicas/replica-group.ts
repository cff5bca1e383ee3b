import { type Purpose, purposeName } from '../collectives/caller-request.js';
import type { CommunicationOptions } from '../collectives/communication-options.js';
import type { ReduceOp } from '../collectives/reduce-op.js';
import { type CallOptions, type ResolvedOptions, runOptionsOf } from '../runtime/call-options.js';
import type { Communicator, Group, RunOptions } from '../runtime/communicator.js';
import { drive, driveSync, type OnePhase, preparedWork, startRuns, type Work } from '../runtime/drive.js';
import { Rendezvous } from '../runtime/rendezvous.js';
import { endedAtOnce } from '../runtime/until-all-have-ended.js';
import { type CollError, RuntimeError, UnavailableError } from '../support/errors.js';
import type { DType } from '../values/dtype.js';
import type { Value } from '../values/indexed-slices.js';
import { packLike, type Structure } from '../values/structure.js';
import { elementCount, requireShape, type Tensor, zeros } from '../values/tensor.js';
import { type ArrivingStructure, type ArrivingValue, reduceArriving } from './arriving-values.js';
import type { Batch, ReplicaRequest, ValueLists } from './batch.js';
import { RecentReduces } from './recent-reduces.js';
import {
  type ArrivingCall,
  arrivingCall,
  broadcastCall,
  type GroupCall,
  gatherCall,
  type ReplicaCall,
  type ReplicaCallOptions,
  type ReplicaValue,
  reduceCall,
  requireLocal,
  requireWhole,
} from './replica-call.js';

/** The ops that execute the calls of a replica group: `CrossDeviceOps`. */
export interface GroupOps {
  perform(batch: Batch, call: ResolvedOptions): Work<ValueLists>;
  performSync(batch: Batch, call: ResolvedOptions): Work<ValueLists>;
  withDefaults(call: ResolvedOptions): ResolvedOptions;
  /** Counts calls that all local replicas have refused before they began; `error` ended the last. */
  refused?(error: unknown, times: number): void;
}

/** Parts that make up a replica group. */
export interface ReplicaGroupOptions {
  /** Executes the calls of the local replicas. */
  readonly ops: GroupOps;
  /** Number of replicas, local and remote. */
  readonly size: number;
  /** Ids of the local replicas. */
  readonly ids: readonly number[];
  /** The device of each local replica. */
  readonly devices: readonly string[];
  /** The rendezvous of the local replicas. Default: a new one. */
  readonly arrivals?: Rendezvous | undefined;
  /**
   * The communicator of the only local replica, whose memory `allocate` returns. Default: ordinary
   * memory.
   */
  readonly communicator?: Communicator | undefined;
  /** Fails the group on all replicas. Default: fails the communicator's group, if there is one. */
  readonly fail?: ((error: CollError) => void) | undefined;
}

/** Remembers the promise of a call until the call has ended. Returns it, or one derived from it. */
type Track = <Result>(call: Promise<Result>) => Promise<Result>;

/** What the calls of all local replicas execute. */
interface PreparedWork {
  readonly calls: readonly ReplicaCall[];
  readonly perform: 'perform' | 'performSync';
  /** The options of the calls together. */
  readonly given: ResolvedOptions;
  /** The settings with which the work was described; those of the ops may change between calls. */
  readonly settings: CommunicationOptions;
  readonly work: Work<ValueLists>;
  /** Whether the work is prepared for repetitions of the calls. */
  readonly isKept: boolean;
  readonly options: RunOptions;
  /** The latest results of kept work that ended at once, and a promise of them. */
  settled?: { readonly results: Structure<Value>; readonly promise: Promise<Structure<Value>> };
}

/**
 * Collectives called from inside the replicas of a world. Each replica passes its own values and
 * gets its own results on its device. The local replicas wait for each other; the last to arrive
 * executes the call for all. Every replica must make the same calls in the same order.
 *
 * @example
 * ```ts
 * import { portableWorld, type ReplicaGroup } from '@coll/core/plugin';
 * import { DirectAllReduce } from '@coll/direct';
 *
 * await using ops = new DirectAllReduce({}, portableWorld(['cpu:0', 'cpu:1']));
 * const group: ReplicaGroup | undefined = ops.replicaGroup;
 * console.log(group?.canBlock); // false
 * console.log(group?.allocate('float32', [2], 0).data); // Float32Array(2) [ 0, 0 ]
 * ```
 */
export class ReplicaGroup {
  readonly #options: ReplicaGroupOptions;
  readonly #arrivals: Rendezvous;
  /** For each replica, its latest call with promised values; undefined once that call has ended. */
  readonly #arriving: (Promise<unknown> | undefined)[] = [];
  /** For each replica, its latest reduces. What all replicas execute is kept with that of the first one. */
  readonly #recent: readonly RecentReduces<PreparedWork>[];
  /** Number of unfinished calls of `run`. */
  #underWay = 0;

  constructor(options: ReplicaGroupOptions) {
    this.#options = options;
    this.#arrivals = options.arrivals ?? new Rendezvous(options.ids);
    this.#arrivals.onRefused = (error, times) => options.ops.refused?.(error, times);
    this.#recent = options.ids.map(() => new RecentReduces());
  }

  /** Number of replicas, local and remote. */
  get size(): number {
    return this.#options.size;
  }

  /** Whether a replica's calls may block its thread, because no other replica shares it. */
  get canBlock(): boolean {
    return this.#arrivals.size === 1;
  }

  /** The group of this replica and those of other threads or processes; undefined if this one executes no call with them. */
  get group(): Group | undefined {
    return this.#options.communicator?.group;
  }

  /** Whether a call of a local replica is under way, so that its calls must not block. */
  isBusy(replicaId: number): boolean {
    return this.#underWay > 0 || this.#arriving[this.#indexOf(replicaId)] !== undefined;
  }

  /**
   * Prepares a call that combines the values of all replicas; the result has the structure of
   * `value`.
   * @throws OutOfRangeError for a replica that is not local; ValueError for an unknown op, or for
   * invalid values or options
   */
  reduceCall(op: ReduceOp, value: ReplicaValue, replicaId: number, options?: ReplicaCallOptions): GroupCall {
    const index = this.#indexOf(replicaId);
    const recent = this.#recent[index] as RecentReduces<PreparedWork>;
    const same = recent.find(op, value, options);
    if (same) return same.made;
    try {
      const made = { index, call: reduceCall(op, value, options, this.#deviceOf(index)) };
      recent.add(op, value, options, made);
      return made;
    } catch (error) {
      throw this.#refused(index, error);
    }
  }

  /**
   * The prepared call for a purpose of the library's own, which never matches a call for another
   * purpose.
   */
  ownCall(purpose: Purpose, { index, call }: GroupCall): GroupCall {
    return { index, call: { ...call, name: purposeName(purpose) ?? call.name, purpose } };
  }

  /**
   * Prepares a call that concatenates the values of all replicas along `axis`, in replica order.
   * @throws the errors of `reduceCall`; NotImplementedError for sparse values
   */
  gatherCall(value: ReplicaValue, axis: number, replicaId: number, options?: CallOptions): GroupCall {
    const index = this.#indexOf(replicaId);
    try {
      return { index, call: gatherCall(value, axis, options, this.#deviceOf(index)) };
    } catch (error) {
      throw this.#refused(index, error);
    }
  }

  /**
   * Prepares a call that copies the value of replica `root` to every replica.
   * @throws the errors of `gatherCall`
   */
  broadcastCall(value: ReplicaValue, root: number, replicaId: number, options?: ReplicaCallOptions): GroupCall {
    const index = this.#indexOf(replicaId);
    try {
      return { index, call: broadcastCall(value, root, this.#options.size, options, this.#deviceOf(index)) };
    } catch (error) {
      throw this.#refused(index, error);
    }
  }

  /**
   * Makes a prepared call, together with all other replicas. `track` gets the promise of a call that
   * does not end at once, and returns the one to return.
   * @throws the errors of the collective; InternalError (ERR_COLL_MISMATCH) if the replicas' calls
   * differ
   */
  run({ index, call }: GroupCall, track: Track = untracked): Promise<Structure<Value>> {
    const before = this.#arriving[index];
    if (before) return track(this.#runAfter(before, index, call));
    if (!this.canBlock) return track(this.#arrivals.join(index, call, this.#execute));
    let begun: PreparedWork | undefined;
    try {
      this.#arrivals.requireOpen(call);
      const prepared = this.#preparedFor([call], 'perform');
      begun = prepared;
      const { work, options } = prepared;
      // `drive` would make one more promise, which takes time that a small collective does not have.
      const ended = 'runs' in work ? startRuns(work.on, work.runs, options) : drive(work, options);
      if (prepared.isKept && ended === endedAtOnce) return settled(prepared, call);
      this.#underWay += 1;
      const results = ended.then(
        (outputs) => {
          this.#underWay -= 1;
          const [own] = outputs ?? (work as OnePhase<ValueLists>).finish();
          return call.finish(own as readonly Value[]);
        },
        (error) => {
          this.#underWay -= 1;
          throw error;
        },
      );
      return ended === endedAtOnce ? results : track(results);
    } catch (error) {
      return track(Promise.reject(begun ? error : this.#refused(index, error)));
    }
  }

  /**
   * Counts a call that a local replica has refused before the call began. Replicas compare their
   * counts in the next call.
   */
  refuse(replicaId: number, error: unknown): void {
    this.#refused(this.#indexOf(replicaId), error);
  }

  /**
   * Like `run`, but blocks the thread.
   * @throws RuntimeError if replicas share the thread (ERR_COLL_CONTEXT), or if an earlier call is
   * under way (ERR_COLL_BUSY)
   */
  runSync({ index, call }: GroupCall): Structure<Value> {
    let prepared: PreparedWork;
    try {
      if (!this.canBlock) throw sharedThread(call.request.kind);
      if (this.#underWay > 0 || this.#arriving[index]) throw busy(call.name);
      this.#arrivals.requireOpen(call);
      prepared = this.#preparedFor([call], 'performSync');
    } catch (error) {
      throw this.#refused(index, error);
    }
    const { work, options } = prepared;
    return call.finish(driveSync(call.name, work, options)[0] as readonly Value[]);
  }

  /**
   * Combines values that may still be promises. Each pack of `bytesPerPack` starts once its values,
   * and all values behind them in the structure, have arrived. Later calls wait until all packs
   * have ended.
   * @throws OutOfRangeError for a replica that is not local; ValueError for an unknown op, invalid
   * options or memory
   */
  runArriving(op: ReduceOp, value: ArrivingValue, replicaId: number, options?: ReplicaCallOptions): ArrivingStructure {
    const index = this.#indexOf(replicaId);
    let arriving: ArrivingCall;
    try {
      arriving = arrivingCall(op, value, options, this.#deviceOf(index));
    } catch (error) {
      throw this.#refused(index, error);
    }
    // Replicas that share a thread must not wait for each other's turns before they meet.
    const turn = this.canBlock ? this.#options.communicator?.group.order.take() : undefined;
    const before = this.#arriving[index]?.catch(() => {}); // The promises of the earlier call report its error.
    let own: Promise<void> | undefined;
    let hasEnded = false;
    const { results, ended } = reduceArriving(arriving.leaves, {
      ...arriving,
      rank: replicaId,
      reduce: async (indices, values) => {
        await before;
        await turn?.begun;
        const part = arriving.callFor(indices, values);
        const call = turn ? { ...part, options: { ...part.options, turn } } : part;
        return this.#arrivals.join(index, call, this.#execute) as Promise<readonly Value[]>;
      },
      fail: (error) => this.#fail(error),
      end: () => {
        hasEnded = true;
        turn?.end();
        if (this.#arriving[index] === own) this.#arriving[index] = undefined;
      },
    });
    own = ended;
    if (!hasEnded) this.#arriving[index] = ended;
    return { results: packLike(value, results), ended };
  }

  /**
   * Allocates zeros on the replica's device, in memory that the engine uses without a copy and that
   * is valid until the group is closed. The memory is ordinary if the engine has no preference, or
   * if replicas share a thread.
   * @throws ValueError for an unknown dtype or an invalid shape; CollError if the group's memory is
   * full
   */
  allocate<D extends DType>(dtype: D, shape: readonly number[], replicaId: number): Tensor<D> {
    const device = this.#deviceOf(this.#indexOf(replicaId));
    const { communicator } = this.#options;
    if (!communicator) return zeros(dtype, shape, device);
    requireShape(shape);
    return { ...communicator.group.allocate(dtype, elementCount(shape)), shape, device };
  }

  /** Ends the communication of these replicas; later calls are refused. */
  async close(): Promise<void> {
    for (const recent of this.#recent) recent.clear();
    this.#arrivals.close(
      (operation) =>
        new RuntimeError('ERR_COLL_CLOSED', `${operation}: these cross-device ops were closed; create new ops`, {
          operation,
        }),
    );
    await this.#options.communicator?.close();
  }

  // A replica's calls run in order, even if promised values of an earlier call arrive late.
  async #runAfter(before: Promise<unknown>, index: number, call: ReplicaCall): Promise<Structure<Value>> {
    this.#underWay += 1;
    try {
      await before.catch(() => {});
      if (!this.canBlock) return await this.#arrivals.join(index, call, this.#execute);
      this.#arrivals.requireOpen(call);
      return (await this.#execute([call]))[0] as Structure<Value>;
    } finally {
      this.#underWay -= 1;
    }
  }

  readonly #execute = async (calls: readonly ReplicaCall[]): Promise<readonly Structure<Value>[]> => {
    // Engines check the memory of a single local replica.
    if (calls.length > 1) requireWhole(calls, this.#options.ids);
    const { work, options } = this.#preparedFor(calls, 'perform');
    const outputs = await drive(work, options);
    const results: Structure<Value>[] = [];
    for (const call of calls) results.push(call.finish(outputs[results.length] as readonly Value[]));
    return results;
  };

  /** Describes what the calls execute, unless recent calls were the same and their work is repeatable. */
  #preparedFor(calls: readonly ReplicaCall[], perform: PreparedWork['perform']): PreparedWork {
    const { ops } = this.#options;
    const reduce = this.#recent[0]?.of(calls[0] as ReplicaCall);
    const before = reduce?.work;
    const isRepeated = before?.perform === perform && areSameCalls(calls, before.calls);
    const given = isRepeated ? before.given : jointOptions(calls);
    const options = ops.withDefaults(given);
    if (isRepeated && before.isKept && areSameSettings(before.settings, options.options)) return before;
    const described = ops[perform](batchOf(calls, isRepeated), options);
    const isKept = isRepeated && 'runs' in described && described.isRepeatable === true;
    const settings = options.options;
    const forRuns = runOptionsOf(options);
    const work = isKept ? preparedWork(described, forRuns) : described;
    const prepared = { calls, perform, given, settings, work, isKept, options: forRuns };
    if (reduce && calls.every((call, index) => this.#recent[index]?.of(call))) reduce.work = prepared;
    return prepared;
  }

  /** Counts a call that was refused before it began. Returns the error. */
  #refused(index: number, error: unknown): unknown {
    if (!this.canBlock) this.#arrivals.refuse(index, error);
    else this.#options.ops.refused?.(error, 1);
    return error;
  }

  #indexOf(replicaId: number): number {
    const index = this.#options.ids.indexOf(replicaId);
    if (index < 0) requireLocal(replicaId, this.#options.ids);
    return index;
  }

  #deviceOf(index: number): string {
    return this.#options.devices[index] as string;
  }

  #fail(error: CollError): void {
    const { fail, communicator } = this.#options;
    if (fail) fail(error);
    else if (communicator) communicator.group.fail(error);
    this.#arrivals.fail((operation) => peerFailed(operation, error));
  }
}

/** A promise of the results of work that ended at once. The same promise as before if the results are the same object. */
function settled(prepared: PreparedWork, call: ReplicaCall): Promise<Structure<Value>> {
  const [own] = (prepared.work as OnePhase<ValueLists>).finish();
  const results = call.finish(own as readonly Value[]);
  if (prepared.settled?.results !== results) prepared.settled = { results, promise: Promise.resolve(results) };
  return prepared.settled.promise;
}

function untracked<Result>(call: Promise<Result>): Promise<Result> {
  return call;
}

function batchOf(calls: readonly ReplicaCall[], isRepeated: boolean): Batch {
  const { request, form, announced, purpose } = calls[0] as ReplicaCall;
  const inputs: (readonly Value[])[] = [];
  const into: (readonly Tensor[] | undefined)[] = [];
  let hasInto = false;
  for (const call of calls) {
    inputs.push(call.values);
    into.push(call.into);
    hasInto ||= call.into !== undefined;
  }
  return { request, inputs, into: hasInto ? into : undefined, form, announced, purpose, isRepeated };
}

/** The options of the first replica, with the earliest deadline and the signals of all replicas. */
function jointOptions(calls: readonly ReplicaCall[]): ResolvedOptions {
  const { options } = calls[0] as ReplicaCall;
  if (calls.every((call) => call.options === options)) return options;
  const limits = calls.map((call) => call.options.options.timeoutSeconds ?? 0).filter((seconds) => seconds > 0);
  const signals = new Set(calls.map((call) => call.options.signal).filter((signal) => signal !== undefined));
  const earliest = limits.length > 0 ? Math.min(...limits) : null;
  const isSame = (options.options.timeoutSeconds ?? 0) === (earliest ?? 0);
  const signal = signals.size > 1 ? AbortSignal.any([...signals]) : [...signals][0];
  if (isSame && signal === options.signal) return options;
  return { ...options, options: options.options.merge({ timeoutSeconds: earliest }), signal };
}

function sharedThread(kind: ReplicaRequest['kind']): RuntimeError {
  const instead = kind.replace(/-./, ([, letter = '']) => letter.toUpperCase());
  const operation = `${instead}Sync`;
  const advice = `await ${instead}(...), or run the replicas in worker threads: strategy.run(new URL('./replica.js', import.meta.url))`;
  const message = `${operation} would block the thread that all replicas share: ${advice}`;
  return new RuntimeError('ERR_COLL_CONTEXT', message, { operation });
}

function busy(operation: string): RuntimeError {
  const message = `${operation}: an asynchronous collective of this replica is still running; await it first`;
  return new RuntimeError('ERR_COLL_BUSY', message, { operation });
}

function peerFailed(operation: string, { message, rank }: CollError): UnavailableError {
  const details = rank === undefined ? { operation } : { operation, rank };
  return new UnavailableError('ERR_COLL_PEER_FAILED', `${operation}: another replica failed: ${message}`, details);
}

function areSameCalls(calls: readonly ReplicaCall[], others: readonly ReplicaCall[]): boolean {
  for (let index = 0; index < calls.length; index++) if (calls[index] !== others[index]) return false;
  return true;
}

function areSameSettings(a: CommunicationOptions, b: CommunicationOptions): boolean {
  return (
    a === b ||
    (a.bytesPerPack === b.bytesPerPack &&
      a.timeoutSeconds === b.timeoutSeconds &&
      a.implementation === b.implementation &&
      a.checkCalls === b.checkCalls)
  );
}

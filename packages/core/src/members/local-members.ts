import { abortedError, blockingError, closedError, refusedError } from '../collectives/call-errors.js';
import { type CallerRequest, operationOf, purposes } from '../collectives/caller-request.js';
import { isSameCollective } from '../collectives/collective.js';
import { type Failure, failureError, failureOf, reasonOf } from '../collectives/failures.js';
import type { Communicator, RunOptions, SplitPart } from '../runtime/communicator.js';
import { type Asked, askedBy, bytesOfDescriptors, Descriptors, nowhere } from '../runtime/descriptors.js';
import { type ErrorFor, type Joining, Rendezvous } from '../runtime/rendezvous.js';
import { checkedCall, listOf } from '../runtime/segment-list.js';
import type { Algorithm } from '../schedule/schedule.js';
import { CollError, ValueError } from '../support/errors.js';
import { tensor, zeros } from '../values/tensor.js';
import { ControllerGroup } from './controller-group.js';
import type { GroupLog } from './group-log.js';
import { type LocalGroup, Member } from './member.js';
import type { MemberCall } from './member-call.js';
import { groupOfRank, requireSizes } from './split.js';

/** Options for opening the members of a group that live in this thread. */
export interface LocalMembersOptions {
  readonly localRanks: readonly number[];
  /** Creates the communicator. Called once, for the first collective. */
  readonly communicator: () => Communicator;
  /** Leaves the group. Default: closes the communicator. */
  readonly close?: (() => Promise<void>) | undefined;
  /** Logs that all local members have left the group. Default: nothing is logged. */
  readonly log?: GroupLog | undefined;
}

/** A call of one member, checked before it meets those of the others. */
interface JoiningMember extends Joining {
  readonly own: RunOptions;
  /** The part of the call that must be equal on all members. */
  readonly asked: Asked;
}

/**
 * The members of a group that live in this thread. Once all of them have called a collective, it
 * runs on the communicator once, for all of them. A call is checked before it waits for the others,
 * so that a member's own mistake fails only its own call.
 */
export class LocalMembers implements LocalGroup {
  readonly localRanks: readonly number[];
  readonly #options: LocalMembersOptions;
  readonly #arrivals: Rendezvous;
  readonly #left = new Set<number>();
  #communicator: Communicator | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: LocalMembersOptions) {
    this.localRanks = options.localRanks;
    this.#options = options;
    this.#arrivals = new Rendezvous(options.localRanks, {
      onError: (error) => this.#failFor(error),
      errors: {
        what: 'rank',
        disagreement: (calls) => disagreementOf((calls as readonly JoiningMember[]).map(({ asked }) => asked)),
        failure: (failure, cause) => this.#failWith(failure, cause),
      },
    });
    this.#arrivals.onRefused = (error, times) => this.communicator.group.order.refuse(error, times);
  }

  get communicator(): Communicator {
    this.#communicator ??= this.#options.communicator();
    return this.#communicator;
  }

  /** The local members, in the order of their ranks. */
  members(size: number, algorithm: Algorithm): readonly Member[] {
    const family = new Set<LocalGroup>();
    return this.localRanks.map((rank) => new Member({ rank, size, algorithm, local: this, family }));
  }

  indexOf(rank: number): number {
    return this.localRanks.indexOf(rank);
  }

  /** Runs a collective once all local members have called it. */
  run(index: number, call: MemberCall, options: RunOptions): Promise<void> {
    const { collective } = call;
    if (this.localRanks.length === 1) return this.communicator.run(collective, [call.input], [call.output], options);
    const name = operationOf({ collective, request: options.request });
    const asked = this.#counting(index, () => this.#check(index, name, call, options));
    return this.#arrivals.join(index, { ...joining(name, options), asked, call }, async (calls) => {
      const { communicator } = this;
      const [inputs, outputs] = [calls.map((one) => one.call.input), calls.map((one) => one.call.output)];
      await communicator.run(collective, inputs, outputs, jointOptions(calls));
      return calls.map(() => undefined);
    });
  }

  /** Like `run`, but blocks the thread. @throws RuntimeError (ERR_COLL_CONTEXT) if several members share the thread */
  runSync(index: number, { collective, input, output }: MemberCall, options: RunOptions): void {
    if (this.localRanks.length === 1) {
      this.communicator.runSync(collective, [input], [output], options);
      return;
    }
    this.#counting(index, () => {
      const operation = operationOf({ collective, request: options.request });
      this.#requireOpen(index, operation, options);
      throw blockingError('would block the thread that members share', 'give each member a thread or process', {
        operation,
        rank: this.localRanks[index] as number,
      });
    });
  }

  /** Counts a call that a local member has refused before the call began. */
  refuse(index: number, error: unknown): void {
    if (this.localRanks.length > 1) this.#arrivals.refuse(index, error);
    else this.communicator.group.order.refuse(error);
  }

  /** Makes one group per color; each local member joins the group of its color. */
  split(
    index: number,
    part: SplitPart,
    algorithm: Algorithm,
    options: RunOptions,
    family: Set<LocalGroup>,
  ): Promise<Member | undefined> {
    this.#counting(index, () => this.#requireOpen(index, 'split', options));
    return this.#arrivals.join(index, { ...joining('split', options), asked: askedBySplit, part }, async (calls) => {
      const { communicator } = this;
      const { group } = communicator;
      const together = { ...jointOptions(calls), request: splitRequest };
      const parts = await this.#exchange(
        calls.map((one) => one.part),
        together,
      );
      requireSizes(parts, algorithm, this.localRanks[0] as number);
      const subGroups = await group.split(parts, algorithm, together);
      const local = new Map<Communicator, LocalMembers>();
      return subGroups.map((subGroup, position) => {
        if (!subGroup) return undefined;
        const { communicator: own, close } = subGroup;
        const { localRanks } = own;
        const known = local.get(own) ?? new LocalMembers({ localRanks, communicator: () => own, close });
        local.set(own, known);
        const rank = (groupOfRank(parts, this.localRanks[position] as number) as readonly number[]).indexOf(
          this.localRanks[position] as number,
        );
        return new Member({ rank, size: own.size, algorithm, local: known, family });
      });
    });
  }

  /**
   * A local member leaves. From now on collectives fail. Messages between other members go on until
   * a collective has failed.
   */
  async close(index: number, family: Set<LocalGroup>): Promise<void> {
    const rank = this.localRanks[index] as number;
    this.#left.add(rank);
    if (this.#left.size === this.localRanks.length) {
      family.delete(this);
      this.#logEnd();
    }
    const failure: Failure = { reason: 'closed', rank, ranks: [], text: 'has left the group' };
    this.#arrivals.close((operation) => this.#failWith(failure, undefined)(operation));
    if (this.localRanks.length > 1 && this.communicator.group instanceof ControllerGroup)
      this.communicator.group.leave(rank);
    this.#closing ??= this.#options.close ? this.#options.close() : this.communicator.close();
    await this.#closing;
  }

  #logEnd(): void {
    const { log } = this.#options;
    if (!log) return;
    const { order, failure } = this.communicator.group;
    // The members of a group end it by leaving one after the other.
    const own = failure?.code === 'ERR_COLL_CLOSED' ? undefined : failure;
    log.close({ order, localMembers: this.localRanks.length, failure: own });
  }

  /**
   * Ends the group because another group that shares members with it failed. The error's rank does
   * not apply here, because members have other ranks in that group.
   */
  fail(error: CollError): void {
    const { group } = this.communicator;
    const text = `another group of its members failed: ${error.message}`;
    const other = { reason: reasonOf(error), rank: -1, ranks: [], text };
    if (!group.failure) group.fail(failureError(other, { operation: error.operation ?? 'group', cause: error }));
    const failure = failureOf(group.failure ?? error, -1);
    this.#arrivals.fail((operation) => failureError(failure, { operation, cause: error }));
  }

  /**
   * Checks a call of one of several local members, as the engines of threads and processes check
   * that of their own member.
   * @throws ValueError for a mistake of this member; RuntimeError (ERR_COLL_CLOSED) if it has left;
   * AbortedError if its signal is aborted
   */
  #check(index: number, operation: string, { collective, input, output }: MemberCall, options: RunOptions): Asked {
    this.#requireOpen(index, operation, options);
    const { communicator } = this;
    const rank = this.localRanks[index] as number;
    const buffers = { inputs: [listOf(input)], outputs: [listOf(output)] };
    const checked = checkedCall({ collective, size: communicator.size, localRanks: [rank], ...buffers }, options);
    const refused = communicator.refuses(collective, checked.dtype);
    if (refused) throw refusedError(refused, { operation, rank });
    return askedBy(checked, 0);
  }

  /** Checks a call. If that fails, counts a refused call. */
  #counting<R>(index: number, check: () => R): R {
    try {
      return check();
    } catch (error) {
      this.refuse(index, error);
      throw error;
    }
  }

  #requireOpen(index: number, operation: string, { signal }: RunOptions): void {
    const rank = this.localRanks[index] as number;
    if (this.#left.has(rank)) throw closedError({ operation, rank });
    if (signal?.aborted) throw abortedError('before it began', signal, { operation, rank });
  }

  /** Fails the group because of an error of a call of all local members, unless all of them made an invalid call. */
  #failFor(error: unknown): void {
    if (this.localRanks.length === 1 || !(error instanceof CollError) || error instanceof ValueError) return;
    this.#arrivals.close(this.#failWith(failureOf(error, this.localRanks[0] as number), error.cause));
  }

  /** Fails the group. The result makes the errors of the calls that wait for others, and of later calls. */
  #failWith(failure: Failure, cause: unknown): ErrorFor {
    const errorFor = (operation: string) => failureError(failure, { operation, cause });
    const { group } = this.communicator;
    if (!group.failure) group.fail(errorFor('group'));
    return errorFor;
  }

  /** Gathers the color and key that each member passed to `split`, in rank order. */
  async #exchange(own: readonly SplitPart[], options: RunOptions): Promise<readonly SplitPart[]> {
    const inputs = own.map(({ color, key }) => tensor(Int32Array.of(color, key)));
    const outputs = own.map(() => zeros('int32', [2 * this.communicator.size]));
    await this.communicator.run({ kind: 'all-gather' }, inputs, outputs, options);
    const words = outputs[0]?.data as Int32Array;
    return Array.from({ length: this.communicator.size }, (_, rank) => ({
      color: words[2 * rank] as number,
      key: words[2 * rank + 1] as number,
    }));
  }
}

const splitRequest: CallerRequest = {
  collective: { kind: 'all-gather' },
  dtype: 'int32',
  length: 2,
  purpose: 'split',
};

const askedBySplit: Asked = { ...splitRequest, purpose: purposes.indexOf('split'), schedule: 0, layout: 0 };

function joining(name: string, own: RunOptions) {
  const { signal, timeoutSeconds = null } = own;
  return { name, own, options: { options: { timeoutSeconds }, signal } };
}

/** The options of a collective on behalf of all local members: the earliest deadline and the signals of their calls. */
function jointOptions(calls: readonly JoiningMember[]): RunOptions {
  const [{ own }] = calls as readonly [JoiningMember];
  if (calls.length === 1) return own;
  const limits = calls.map((call) => call.own.timeoutSeconds ?? 0).filter((seconds) => seconds > 0);
  const signals = [...new Set(calls.flatMap((call) => call.own.signal ?? []))];
  return {
    ...own,
    timeoutSeconds: limits.length > 0 ? Math.min(...limits) : null,
    ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
  };
}

/**
 * The error of all ranks of a thread if their calls differ, the same as between threads; undefined
 * if they agree. `asked` is in rank order.
 */
function disagreementOf(asked: readonly Asked[]): CollError | undefined {
  const [first] = asked as readonly [Asked];
  if (asked.every((one) => isSame(one, first))) return undefined;
  const descriptors = new Descriptors(new ArrayBuffer(bytesOfDescriptors(asked.length)), asked.length);
  for (const [rank, one] of asked.entries())
    descriptors.write(rank, { ...one, inputAt: nowhere, outputAt: nowhere, workAt: nowhere });
  return descriptors.mismatch();
}

function isSame(one: Asked, other: Asked): boolean {
  if (one === other) return true;
  return (
    isSameCollective(one.collective, other.collective) &&
    one.purpose === other.purpose &&
    one.dtype === other.dtype &&
    one.length === other.length &&
    one.schedule === other.schedule &&
    one.layout === other.layout
  );
}

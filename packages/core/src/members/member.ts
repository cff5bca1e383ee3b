import type { CallerRequest } from '../collectives/caller-request.js';
import { type Collective, collectiveOp } from '../collectives/collective.js';
import { type ReduceOpLike, reduceOpFrom } from '../collectives/reduce-op.js';
import type { CombinedData, MemoryFor } from '../collectives/value-types.js';
import type { Communicator, RunOptions, SplitPart } from '../runtime/communicator.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type CollError, ValueError } from '../support/errors.js';
import { optionsOf } from '../support/options-of.js';
import { quote } from '../support/quote.js';
import { asMemory, asTensor } from '../values/tensor.js';
import { type MemberCall, memberCall, scatterCall, withDetails } from './member-call.js';
import {
  type MemberData,
  type MemberOptions,
  memberOptions,
  runOptionsOf,
  type WaitingOptions,
  waitingOf,
} from './member-options.js';
import { requireSplitPart } from './split.js';

/**
 * The members of a group that live in this thread. Once all of them have called a collective, it
 * runs on the communicator once, for all of them.
 */
export interface LocalGroup {
  readonly communicator: Communicator;
  /** The index of a rank among the local ranks. */
  indexOf(rank: number): number;
  /** Runs a collective once all local members have called it. */
  run(index: number, call: MemberCall, options: RunOptions): Promise<void>;
  /**
   * Like `run`, but blocks the thread.
   * @throws RuntimeError (ERR_COLL_CONTEXT) if several members share the thread
   */
  runSync(index: number, call: MemberCall, options: RunOptions): void;
  /**
   * Makes one group per color; each local member joins the group of its color. The new groups are
   * added to `family`, the set of groups that fail together.
   */
  split(
    index: number,
    part: SplitPart,
    algorithm: Algorithm,
    options: RunOptions,
    family: Set<LocalGroup>,
  ): Promise<Member | undefined>;
  /**
   * Counts a call that the local member with index `index` has refused before the call began.
   * Members compare their counts in the next call.
   */
  refuse(index: number, error: unknown): void;
  /** Ends the group with `error`. Also ends calls in which members of this process wait for each other. */
  fail(error: CollError): void;
  /** The local member with this index leaves. Removes the group from `family` once all of them have left. */
  close(index: number, family: Set<LocalGroup>): Promise<void>;
}

/** Parts that make up a member. */
export interface MemberSetup {
  readonly rank: number;
  readonly size: number;
  /** The algorithm of the collectives; groups made by `split` inherit it. */
  readonly algorithm: Algorithm;
  readonly local: LocalGroup;
  /** The groups that fail together with this one. Default: none. */
  readonly family?: Set<LocalGroup> | undefined;
}

/**
 * One rank of a group: a process, a worker thread, or one rank of a single thread. All members of a
 * group make the same collective calls in the same order. Each call takes this member's value and
 * returns an array for an array and a tensor for a tensor, in new memory unless `into` is given.
 *
 * Errors of all collectives: `ValueError` for invalid values and options of this member, at once;
 * `InvalidArgumentError` if the members' lengths or shapes differ (an array has one dimension);
 * `InternalError` if anything else differs;
 * `DeadlineExceededError`; `AbortedError`; `UnavailableError` if a member was lost; `RuntimeError`
 * (ERR_COLL_CLOSED) if a member has left. A member that catches the error of a call which it alone
 * has refused makes the next call fail on all members, as `Group.fail` would. All but `ValueError` fail the group and, unless a member
 * has left, also the groups that the group was split from or into.
 *
 * Each collective has a form that blocks the thread until the result is there, with `Sync` at the end
 * of its name. It makes the same call: another member may await the other form. Its further errors are
 * `RuntimeError` (ERR_COLL_CONTEXT) if members share the thread, or if the thread must not block, as
 * the main thread of a page; and `RuntimeError` (ERR_COLL_BUSY) if an earlier call is still running.
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * const members = openMembers({ size: 2, algorithm: ringAlgorithm() });
 * const sums = await Promise.all(
 *   members.map((member) => member.allReduce('sum', new Float32Array([member.rank, 1]))),
 * );
 * console.log(sums[0]); // Float32Array(2) [ 1, 2 ]
 * ```
 */
export class Member implements AsyncDisposable {
  /** Rank of this member, from 0. */
  readonly rank: number;
  /** Number of members in the group. */
  readonly size: number;
  readonly #algorithm: Algorithm;
  readonly #local: LocalGroup;
  readonly #family: Set<LocalGroup>;

  /**
   * For packages that open groups. Programs get members from `openMembers`, `joinThreadGroup` and
   * `openProcessGroup`.
   */
  constructor({ rank, size, algorithm, local, family = new Set() }: MemberSetup) {
    this.rank = rank;
    this.size = size;
    this.#algorithm = algorithm;
    this.#local = local;
    this.#family = family;
    family.add(local);
  }

  /**
   * Combines the values of all members element by element. The mean of integers is a float.
   * @param value an array or tensor of any shape, the same on all members, or a list of them of one
   * dtype
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const [mean] = await Promise.all(
   *   members.map((member) => member.allReduce('mean', new Float32Array([member.rank, 1]))),
   * );
   * console.log(mean); // Float32Array(2) [ 0.5, 1 ]
   * ```
   */
  allReduce<T extends MemberData | readonly MemberData[], Op extends ReduceOpLike>(
    op: Op,
    value: T,
    options?: MemberOptions<MemoryFor<CombinedData<T, Op>>>,
  ): Promise<CombinedData<T, Op>> {
    return this.#call(
      reducing(op, (by) => ({ kind: 'all-reduce', op: by })),
      value,
      options,
    );
  }

  /**
   * Like `allReduce`, but only member `root` gets the result; the others get undefined.
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const sums = await Promise.all(
   *   members.map((member) => member.reduce('sum', 0, new Int32Array([member.rank + 1]))),
   * );
   * console.log(sums); // [ Int32Array(1) [ 3 ], undefined ]
   * ```
   */
  reduce<T extends MemberData | readonly MemberData[], Op extends ReduceOpLike>(
    op: Op,
    root: number,
    value: T,
    options?: MemberOptions<MemoryFor<CombinedData<T, Op>>>,
  ): Promise<CombinedData<T, Op> | undefined> {
    return this.#call(
      reducing(op, (by) => ({ kind: 'reduce', op: by, root: this.#rankOf(root, 'root') })),
      value,
      options,
    );
  }

  /**
   * Copies the value of member `root` to all members. The other members' values only provide dtype
   * and shape.
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const values = await Promise.all(
   *   members.map((member) => member.broadcast(1, new Int32Array([member.rank]))),
   * );
   * console.log(values); // [ Int32Array(1) [ 1 ], Int32Array(1) [ 1 ] ]
   * ```
   */
  broadcast<T extends MemberData | readonly MemberData[]>(
    root: number,
    value: T,
    options?: MemberOptions<T>,
  ): Promise<T> {
    return this.#call(() => ({ kind: 'broadcast', root: this.#rankOf(root, 'root') }), value, options);
  }

  /**
   * Concatenates the values of all members in rank order along the first dimension: `size` times as
   * many elements. All values must have the same shape.
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const [all] = await Promise.all(
   *   members.map((member) => member.allGather(new Int32Array([member.rank, 7]))),
   * );
   * console.log(all); // Int32Array(4) [ 0, 7, 1, 7 ]
   * ```
   */
  allGather<T extends MemberData>(value: T, options?: MemberOptions<T>): Promise<T> {
    return this.#call(() => ({ kind: 'all-gather' }), value, options);
  }

  /**
   * Like `allGather`, but only member `root` gets the result; the others get undefined.
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const values = await Promise.all(
   *   members.map((member) => member.gather(0, new Int32Array([member.rank]))),
   * );
   * console.log(values); // [ Int32Array(2) [ 0, 1 ], undefined ]
   * ```
   */
  gather<T extends MemberData>(root: number, value: T, options?: MemberOptions<T>): Promise<T | undefined> {
    return this.#call(() => ({ kind: 'gather', root: this.#rankOf(root, 'root') }), value, options);
  }

  /**
   * Splits the value of member `root` into `size` equal blocks along the first dimension; member i
   * receives block i in `into`, which has the shape of a block.
   * @param value the root's value; undefined at the others
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [first, second] = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const blocks = await Promise.all([
   *   first?.scatter(0, new Int32Array(1), new Int32Array([1, 2])),
   *   second?.scatter(0, new Int32Array(1)),
   * ]);
   * console.log(blocks); // [ Int32Array(1) [ 1 ], Int32Array(1) [ 2 ] ]
   * ```
   */
  async scatter<T extends MemberData>(root: number, into: T, value?: T, options?: WaitingOptions): Promise<T> {
    const [call, own] = this.#scattering(root, into, value, options);
    await this.#run(call, own);
    return into;
  }

  /**
   * Combines the values of all members, and splits the result into `size` equal blocks along the
   * first dimension. Member i gets block i.
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const blocks = await Promise.all(
   *   members.map((member) => member.reduceScatter('sum', new Int32Array([1, 2]))),
   * );
   * console.log(blocks); // [ Int32Array(1) [ 2 ], Int32Array(1) [ 4 ] ]
   * ```
   */
  reduceScatter<T extends MemberData, Op extends ReduceOpLike>(
    op: Op,
    value: T,
    options?: MemberOptions<MemoryFor<CombinedData<T, Op>>>,
  ): Promise<CombinedData<T, Op>> {
    return this.#call(
      reducing(op, (by) => ({ kind: 'reduce-scatter', op: by })),
      value,
      options,
    );
  }

  /**
   * Splits each value into `size` equal blocks; member i gets block i of every member, in rank
   * order.
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const blocks = await Promise.all(
   *   members.map((member) => member.allToAll(new Int32Array([member.rank, member.rank + 10]))),
   * );
   * console.log(blocks); // [ Int32Array(2) [ 0, 1 ], Int32Array(2) [ 10, 11 ] ]
   * ```
   */
  allToAll<T extends MemberData>(value: T, options?: MemberOptions<T>): Promise<T> {
    return this.#call(() => ({ kind: 'all-to-all' }), value, options);
  }

  /**
   * Waits until all members have called `barrier`.
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
   * await Promise.all(members.map((member) => member.barrier({ timeoutSeconds: 60 })));
   * ```
   */
  async barrier(options?: WaitingOptions): Promise<void> {
    const [call, own] = this.#meeting(options);
    await this.#run(call, own, barrierRequest);
  }

  /**
   * `allReduce` that blocks the thread.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * console.log(member?.allReduceSync('sum', new Float32Array([1, 2]))); // Float32Array(2) [ 1, 2 ]
   * ```
   */
  allReduceSync<T extends MemberData | readonly MemberData[], Op extends ReduceOpLike>(
    op: Op,
    value: T,
    options?: MemberOptions<MemoryFor<CombinedData<T, Op>>>,
  ): CombinedData<T, Op> {
    return this.#callSync(
      reducing(op, (by) => ({ kind: 'all-reduce', op: by })),
      value,
      options,
    );
  }

  /**
   * `reduce` that blocks the thread.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * console.log(member?.reduceSync('sum', 0, new Int32Array([3]))); // Int32Array(1) [ 3 ]
   * ```
   */
  reduceSync<T extends MemberData | readonly MemberData[], Op extends ReduceOpLike>(
    op: Op,
    root: number,
    value: T,
    options?: MemberOptions<MemoryFor<CombinedData<T, Op>>>,
  ): CombinedData<T, Op> | undefined {
    return this.#callSync(
      reducing(op, (by) => ({ kind: 'reduce', op: by, root: this.#rankOf(root, 'root') })),
      value,
      options,
    );
  }

  /**
   * `broadcast` that blocks the thread.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * console.log(member?.broadcastSync(0, new Int32Array([7]))); // Int32Array(1) [ 7 ]
   * ```
   */
  broadcastSync<T extends MemberData | readonly MemberData[]>(root: number, value: T, options?: MemberOptions<T>): T {
    return this.#callSync(() => ({ kind: 'broadcast', root: this.#rankOf(root, 'root') }), value, options);
  }

  /**
   * `allGather` that blocks the thread.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * console.log(member?.allGatherSync(new Int32Array([7]))); // Int32Array(1) [ 7 ]
   * ```
   */
  allGatherSync<T extends MemberData>(value: T, options?: MemberOptions<T>): T {
    return this.#callSync(() => ({ kind: 'all-gather' }), value, options);
  }

  /**
   * `gather` that blocks the thread.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * console.log(member?.gatherSync(0, new Int32Array([7]))); // Int32Array(1) [ 7 ]
   * ```
   */
  gatherSync<T extends MemberData>(root: number, value: T, options?: MemberOptions<T>): T | undefined {
    return this.#callSync(() => ({ kind: 'gather', root: this.#rankOf(root, 'root') }), value, options);
  }

  /**
   * `scatter` that blocks the thread.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * console.log(member?.scatterSync(0, new Int32Array(1), new Int32Array([7]))); // Int32Array(1) [ 7 ]
   * ```
   */
  scatterSync<T extends MemberData>(root: number, into: T, value?: T, options?: WaitingOptions): T {
    const [call, own] = this.#scattering(root, into, value, options);
    this.#runSync(call, own);
    return into;
  }

  /**
   * `reduceScatter` that blocks the thread.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * console.log(member?.reduceScatterSync('sum', new Int32Array([1, 2]))); // Int32Array(2) [ 1, 2 ]
   * ```
   */
  reduceScatterSync<T extends MemberData, Op extends ReduceOpLike>(
    op: Op,
    value: T,
    options?: MemberOptions<MemoryFor<CombinedData<T, Op>>>,
  ): CombinedData<T, Op> {
    return this.#callSync(
      reducing(op, (by) => ({ kind: 'reduce-scatter', op: by })),
      value,
      options,
    );
  }

  /**
   * `allToAll` that blocks the thread.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * console.log(member?.allToAllSync(new Int32Array([1, 2]))); // Int32Array(2) [ 1, 2 ]
   * ```
   */
  allToAllSync<T extends MemberData>(value: T, options?: MemberOptions<T>): T {
    return this.#callSync(() => ({ kind: 'all-to-all' }), value, options);
  }

  /**
   * Blocks the thread until all members have called `barrier` or `barrierSync`.
   * @throws the errors of collectives, and those of their blocking forms
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
   * member?.barrierSync({ timeoutSeconds: 60 });
   * ```
   */
  barrierSync(options?: WaitingOptions): void {
    const [call, own] = this.#meeting(options);
    this.#runSync(call, own, barrierRequest);
  }

  /**
   * Sends a value to member `to`, which calls `receive`. Resolves when the value may be changed
   * again; the value then arrives even if this member closes its group or its process ends with exit
   * code 0. Also resolves if the receiver refuses the value because it expects another dtype or
   * shape: the group fails, and this member's next call throws the error. Messages between two
   * members arrive in the order sent. Messages do not wait for collectives or involve other members,
   * and go on after another member has left. If one of two members refuses its call for a message,
   * for example because of an invalid option, and the other makes its call, the group fails; if both
   * refuse it, the next message goes on.
   * @throws the errors of collectives, and ValueError (ERR_COLL_REFUSED) if the engine does not
   * support messages
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [first, second] = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const sent = first?.send(1, new Float32Array([1, 2]));
   * console.log(await second?.receive(0, new Float32Array(2))); // Float32Array(2) [ 1, 2 ]
   * await sent;
   * ```
   */
  async send(to: number, value: MemberData, options?: WaitingOptions): Promise<void> {
    const { group } = this.#local.communicator;
    const peer = this.#otherOf(to, 'send');
    const make = () => [asTensor(value), waitingOf(options)] as const;
    const [sent, own] = this.#message('send', peer, `send to rank ${peer}`, make);
    await this.#together(group.send(this.rank, peer, sent, own));
  }

  /**
   * Receives the next value from member `from` into an array or tensor of the same dtype and shape,
   * and returns it.
   * @throws as `send`
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const [first, second] = openMembers({ size: 2, algorithm: directAlgorithm() });
   * const message = second?.receive(0, new Int32Array(1));
   * await first?.send(1, new Int32Array([7]));
   * console.log(await message); // Int32Array(1) [ 7 ]
   * ```
   */
  async receive<T extends MemberData>(from: number, into: T, options?: WaitingOptions): Promise<T> {
    const { group } = this.#local.communicator;
    const peer = this.#otherOf(from, 'receive');
    const make = () => [asMemory(into), waitingOf(options)] as const;
    const [memory, own] = this.#message('receive', peer, `receive from rank ${peer}`, make);
    await this.#together(group.receive(this.rank, peer, memory, own));
    return into;
  }

  /**
   * Makes one group per color, and returns this member's `Member` of the new group; undefined for a
   * negative color. All members must call `split`. The new group has the same algorithm and its own
   * call order, and fails together with this one.
   * The limit and the signal also apply to the opening of the new group; if it fails, this group
   * fails for the same reason.
   * @param color a 32-bit integer
   * @param key a 32-bit integer that orders the members of a color. Default: the rank
   * @throws the errors of collectives, and ValueError (ERR_COLL_REFUSED) if the engine does not
   * support sub-groups, or, on all members, if the algorithm refuses the number of members of a color
   *
   * @example
   * ```ts
   * import { openMembers } from '@coll/core';
   * import { directAlgorithm } from '@coll/direct';
   *
   * const members = openMembers({ size: 4, algorithm: directAlgorithm() });
   * const halves = await Promise.all(
   *   members.map((member) => member.split(member.rank < 2 ? 0 : 1)),
   * );
   * console.log(halves.map((half) => half?.rank)); // [ 0, 1, 0, 1 ]
   * ```
   */
  async split(color: number, key = this.rank, options?: WaitingOptions): Promise<Member | undefined> {
    const part: SplitPart = { color, key };
    const own = this.#prepared(() => {
      requireSplitPart(part);
      return waitingOf(options);
    });
    return this.#together(this.#local.split(this.#index, part, this.#algorithm, own, this.#family));
  }

  /**
   * Leaves the group: collectives of other members, and messages to and from this one, throw a
   * `RuntimeError` (ERR_COLL_CLOSED). Between processes they throw it about 0.2 seconds later, and an
   * exception that ends the process until then is their error instead. Idempotent.
   */
  close(): Promise<void> {
    return this.#local.close(this.#index, this.#family);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #index(): number {
    return this.#local.indexOf(this.rank);
  }

  async #call<R>(
    collectiveOf: () => Collective,
    value: unknown,
    options: MemberOptions<unknown> | undefined,
  ): Promise<R> {
    const [call, own] = this.#calling(collectiveOf, value, options);
    await this.#run(call, own);
    return call.result as R;
  }

  #callSync<R>(collectiveOf: () => Collective, value: unknown, options: MemberOptions<unknown> | undefined): R {
    const [call, own] = this.#calling(collectiveOf, value, options);
    this.#runSync(call, own);
    return call.result as R;
  }

  #calling(collectiveOf: () => Collective, value: unknown, options: MemberOptions<unknown> | undefined): Prepared {
    const { rank, size } = this;
    return this.#prepared(() => {
      const given = optionsOf<MemberOptions<unknown>>(options, '{ into, timeoutSeconds, signal }', memberOptions);
      return [memberCall(collectiveOf(), { rank, size, value, into: given.into }), runOptionsOf(given)];
    });
  }

  #scattering(root: number, into: unknown, value: unknown, options: WaitingOptions | undefined): Prepared {
    const { rank, size } = this;
    return this.#prepared(() => [
      scatterCall(this.#rankOf(root, 'root'), { rank, size, value, into }),
      waitingOf(options),
    ]);
  }

  #meeting(options: WaitingOptions | undefined): Prepared {
    const { rank, size } = this;
    const value = new Uint8Array(1);
    return this.#prepared(() => [memberCall({ kind: 'all-gather' }, { rank, size, value }), waitingOf(options)]);
  }

  /**
   * Prepares a message. If that fails, counts a refused message.
   * @throws ValueError with the operation and the rank
   */
  #message<R>(call: 'send' | 'receive', peer: number, operation: string, prepare: () => R): R {
    try {
      return prepare();
    } catch (error) {
      const own = withDetails(error, operation, this.rank);
      this.#local.communicator.group.refuseMessage?.(this.rank, call, peer, own);
      throw own;
    }
  }

  /** Prepares a call. If that fails, counts a refused call. */
  #prepared<R>(prepare: () => R): R {
    try {
      return prepare();
    } catch (error) {
      this.#local.refuse(this.#index, error);
      throw error;
    }
  }

  #run(call: MemberCall, options: RunOptions, request?: CallerRequest): Promise<void> {
    return this.#together(this.#local.run(this.#index, call, withDescription(options, call, request)));
  }

  #runSync(call: MemberCall, options: RunOptions, request?: CallerRequest): void {
    try {
      this.#local.runSync(this.#index, call, withDescription(options, call, request));
    } catch (error) {
      this.#failFamily();
      throw error;
    }
  }

  /** Awaits a call. If it fails, may also fail the groups that the group was split from or into. */
  async #together<R>(call: Promise<R>): Promise<R> {
    try {
      return await call;
    } catch (error) {
      this.#failFamily();
      throw error;
    }
  }

  /**
   * If the group has failed, and not only because a member left, also fails the groups that the
   * group was split from or into.
   */
  #failFamily(): void {
    const { failure } = this.#local.communicator.group;
    if (failure && failure.code !== 'ERR_COLL_CLOSED') for (const group of this.#family) group.fail(failure);
  }

  #rankOf(rank: unknown, what: string): number {
    if (Number.isInteger(rank) && Number(rank) >= 0 && Number(rank) < this.size) return Number(rank);
    throw new ValueError('ERR_COLL_VALUE', `${what} must be a rank from 0 to ${this.size - 1}, got ${quote(rank)}`);
  }

  #otherOf(rank: unknown, operation: string): number {
    const other = this.#rankOf(rank, operation === 'send' ? 'to' : 'from');
    if (other !== this.rank) return other;
    throw new ValueError(
      'ERR_COLL_VALUE',
      `${operation}: rank ${this.rank} cannot send messages to itself or receive its own`,
      {
        operation,
        rank: this.rank,
      },
    );
  }
}

const barrierRequest: CallerRequest = {
  collective: { kind: 'all-gather' },
  dtype: 'uint8',
  length: 1,
  purpose: 'barrier',
};

type Prepared = readonly [call: MemberCall, own: RunOptions];

function reducing(
  op: ReduceOpLike,
  collectiveOf: (op: ReturnType<typeof collectiveOp>) => Collective,
): () => Collective {
  return () => collectiveOf(collectiveOp(reduceOpFrom(op)));
}

/** The options with the description of the call that the members compare. */
function withDescription(
  options: RunOptions,
  { layout, valueCount }: MemberCall,
  request: CallerRequest | undefined,
): RunOptions {
  return layout === 0 && valueCount === 0 && !request ? options : { ...options, layout, valueCount, request };
}

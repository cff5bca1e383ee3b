import { abortedError, type CallDetails, closedError, lostBufferError } from '../collectives/call-errors.js';
import { failureError } from '../collectives/failures.js';
import { recorder, recordFailure } from '../record/recorder-hook.js';
import type { RunOptions } from '../runtime/communicator.js';
import {
  type CollError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  UnavailableError,
} from '../support/errors.js';
import { type StallListener, StallReporter, type WaitingCall } from '../support/stalls.js';
import { afterSeconds } from '../support/timer.js';
import { hasLength } from '../values/has-length.js';
import { shapeLayoutOf } from '../values/layout.js';
import { copyElements, type Tensor } from '../values/tensor.js';
import { keyOf, MessageRefusals, operationOf } from './message-refusals.js';
import type { MessageGroup, MessageId, Post, Postbox } from './postbox.js';

/** A call of `send` or `receive` that is under way. */
interface Waiter {
  readonly id: MessageId;
  /** The value to send, or the memory to receive into. */
  readonly value: Tensor;
  /**
   * Number of elements of `value` when the call was made; its memory may have been detached since.
   */
  readonly length: number;
  /** Since when the call has waited for its peer alone, as a time of `performance.now()`. */
  since: number;
  /** Whether the elements of `value` have been posted. */
  isPosted?: boolean;
  /** Whether the peer had left at the previous look. */
  isLeft?: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** A message to wait for, and the post that this rank sends first. */
interface Message {
  readonly id: MessageId;
  readonly value: Tensor;
  readonly peer: number;
  readonly first: Post;
}

type Details = Required<CallDetails>;

const lookMillis = 50;
// Message numbers have 32 bits.
const numbers = 2 ** 32;

/**
 * The messages of one rank. Messages between two ranks arrive in the order sent; they do not wait
 * for collectives or for messages of other ranks.
 */
export class PointToPoint {
  readonly #rank: number;
  readonly #postbox: Postbox;
  readonly #group: MessageGroup;
  readonly #sends = new Map<string, Waiter>();
  readonly #receives = new Map<string, Waiter>();
  /** Number of messages sent to each rank. */
  readonly #sent: number[] = [];
  /** Number of messages received from each rank. */
  readonly #received: number[] = [];
  #look: ReturnType<typeof setInterval> | undefined;
  readonly #stalls: { readonly reporter: StallReporter; readonly repeats: boolean } | undefined;
  readonly #refusals: MessageRefusals;
  /** Number of the last message that each rank has offered to this rank, and has requested from it. */
  readonly #offered: number[] = [];
  readonly #requested: number[] = [];
  #hasSeenFailure = false;
  #isClosed = false;

  /** @param stalls receives reports of calls that wait too long. Default: no reports */
  constructor(rank: number, postbox: Postbox, group: MessageGroup, stalls?: StallListener) {
    this.#rank = rank;
    this.#refusals = new MessageRefusals(rank);
    this.#stalls = stalls && { reporter: new StallReporter(stalls), repeats: stalls.repeats };
    this.#postbox = postbox;
    this.#group = group;
  }

  /**
   * Sends to another rank. Resolves when the elements have been posted to a rank that has called
   * `receive`.
   * @throws the errors of `receive`
   */
  async send(to: number, value: Tensor, options: RunOptions = {}): Promise<void> {
    const details = { operation: `send to rank ${to}`, rank: this.#rank };
    this.#requireOpen('send', to, details, options);
    const id = { from: this.#rank, to, number: next(this.#sent, to) };
    await this.#wait(this.#sends, { id, value, peer: to, first: { ...id, type: 'offer' } }, details, options);
  }

  /**
   * Receives from another rank.
   * @throws InvalidArgumentError if the lengths or shapes differ, InternalError if the dtypes differ,
   * ValueError if the memory was detached during the call, DeadlineExceededError, AbortedError,
   * each of which fails the group; the group's failure, if the group has failed; RuntimeError
   * (ERR_COLL_CLOSED) after `close`
   */
  async receive(from: number, into: Tensor, options: RunOptions = {}): Promise<void> {
    const details = { operation: `receive from rank ${from}`, rank: this.#rank };
    this.#requireOpen('receive', from, details, options);
    const id = { from, to: this.#rank, number: next(this.#received, from) };
    const message = { id, value: into, peer: from, first: { ...id, type: 'request' as const } };
    await this.#wait(this.#receives, message, details, options);
  }

  /**
   * Counts a message that this rank has refused to send to `peer`, or to receive from it. The group
   * fails if the peer makes its call for this message.
   */
  refuse(call: 'send' | 'receive', peer: number, error: unknown): void {
    if (this.#isClosed || this.#group.failure) return;
    const isSend = call === 'send';
    const number = next(isSend ? this.#sent : this.#received, peer);
    const id = isSend ? { from: this.#rank, to: peer, number } : { from: peer, to: this.#rank, number };
    this.#refusals.add(id, error);
    this.#postbox.open(peer);
    if ((isSend ? this.#requested : this.#offered)[peer] === number) this.#failIfRefused(id);
  }

  #failIfRefused(id: MessageId): void {
    const failure = this.#refusals.failureFor(id);
    if (failure) this.#fail(failure);
  }

  /** Handles a post (a step of a message) from another rank. */
  deliver(post: Post): void {
    const key = keyOf(post);
    this.#failIfRefused(post);
    if (post.type === 'request') this.#repeat(this.#sends, this.#requested, post.to, post);
    if (post.type === 'offer') this.#repeat(this.#receives, this.#offered, post.from, post);
    if (post.type === 'request') this.#answer(key, post);
    else if (post.type === 'elements') this.#take(key, post);
    // Repeats the request for an offered message, because an earlier request may have been lost.
    else if (this.#receives.has(key)) void this.#postbox.post(post.from, { ...idOf(post), type: 'request' });
  }

  /**
   * The memory for the elements of a message, which a postbox may fill before it delivers them.
   * Undefined if no call waits for the message.
   */
  memoryFor(id: MessageId): Tensor | undefined {
    return this.#receives.get(keyOf(id))?.value;
  }

  /**
   * Ends the group if this rank waits for `peer`, which has left. If `problem` is given, the peer has
   * not left, but cannot be reached for this reason.
   */
  left(peer: number, problem?: string): void {
    const waiter = [...this.#sends.values(), ...this.#receives.values()].find(
      ({ id }) => id.from === peer || id.to === peer,
    );
    if (!waiter) return;
    const operation = operationOf(waiter.id, this.#rank);
    const left = { reason: 'closed', rank: peer, ranks: [], text: 'has left the group' } as const;
    const error = problem
      ? new UnavailableError('ERR_COLL_PEER_FAILED', `${operation}: ${problem}`, { operation, rank: peer })
      : failureError(left, { operation });
    this.#group.fail(error);
    this.#rejectUndrained(this.#ownOr(error), error);
  }

  /** Repeats posts (steps of messages) that a newly reachable rank may have missed. */
  reached(peer: number): void {
    for (const { id } of this.#sends.values())
      if (id.to === peer) void this.#postbox.post(peer, { ...id, type: 'offer' });
    for (const { id } of this.#receives.values())
      if (id.from === peer) void this.#postbox.post(peer, { ...id, type: 'request' });
  }

  /** Ends all calls of `send` and `receive` that are under way if the group has failed. */
  endIfFailed(): void {
    const { failure } = this.#group;
    if (failure) this.#rejectAll(() => failure);
  }

  /**
   * Ends all calls of `send` and `receive` that are under way. Resolves when the peers have read what
   * was sent to them, or after some seconds.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rejectAll((operation) => closedError({ operation, rank: this.#rank }));
    await this.#postbox.close();
  }

  /** Ends the group if this rank waits for a rank that had left at the previous look: its last elements have arrived. */
  #endIfLeft(): void {
    const { hasLeft } = this.#group;
    if (!hasLeft) return;
    for (const waiter of [...this.#sends.values(), ...this.#receives.values()]) {
      const { from, to } = waiter.id;
      const peer = from === this.#rank ? to : from;
      if (waiter.isLeft) this.left(peer);
      else waiter.isLeft = hasLeft(peer);
    }
  }

  /**
   * Repeats what this rank has posted of messages between the last one that `peer` has named and
   * `post`, because the peer has refused these messages, or has not read the posts.
   */
  #repeat(waiters: ReadonlyMap<string, Waiter>, last: number[], peer: number, { number }: Post): void {
    const from = (last[peer] ?? -1) + 1;
    last[peer] = number;
    for (let skipped = from; skipped < number && waiters.size > 0; skipped++) {
      const id = waiters === this.#sends ? { from: this.#rank, to: peer } : { from: peer, to: this.#rank };
      const waiter = waiters.get(keyOf({ ...id, number: skipped }));
      if (waiter && !waiter.isPosted)
        void this.#postbox.post(peer, { ...waiter.id, type: waiters === this.#sends ? 'offer' : 'request' });
    }
  }

  #requireOpen(call: 'send' | 'receive', peer: number, details: Details, { signal }: RunOptions): void {
    if (this.#isClosed) throw closedError(details);
    // Read once: another thread may change it.
    const { failure } = this.#group;
    if (failure) throw failure;
    if (!signal?.aborted) return;
    const error = abortedError('before it began', signal, details);
    this.refuse(call, peer, error);
    throw error;
  }

  #wait(
    waiters: Map<string, Waiter>,
    { id, value, peer, first }: Message,
    details: Details,
    { signal, timeoutSeconds }: RunOptions,
  ): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const endTimer = afterSeconds(timeoutSeconds, () => this.#fail(tooLate(details, peer)));
      const abort = () => this.#fail(abortedError('while it was under way', signal, details));
      signal?.addEventListener('abort', abort);
      const key = keyOf(id);
      const recorded = this.#record(waiters === this.#sends ? 'send' : 'receive', id, peer, value);
      const settle = (act: () => void) => {
        endTimer();
        signal?.removeEventListener('abort', abort);
        waiters.delete(key);
        this.#watch();
        act();
      };
      waiters.set(key, {
        id,
        value,
        length: value.data.length,
        since: performance.now(),
        resolve: () => {
          this.#refusals.completed(id);
          recorder?.end(recorded, true);
          settle(resolve);
        },
        reject: (error) => {
          recorder?.end(recorded, false, error);
          recordFailure(this.#group.recorded, error);
          settle(() => reject(error));
        },
      });
      this.#watch();
      this.#postbox.open(peer);
      void this.#postbox.post(peer, first);
      recorder?.leave(recorded);
    });
  }

  /** Records a message that begins. Returns its number in the recorder. Ranks of one thread do not wait for messages. */
  #record(verb: 'send' | 'receive', { number }: MessageId, peer: number, { dtype, data }: Tensor): number {
    const { recorded } = this.#group;
    if (!recorder || !recorded || recorded.identity.rank < 0) return 0;
    return recorder.message(recorded, { verb, peer, number, dtype, bytes: data.byteLength });
  }

  #answer(key: string, post: Post): void {
    const sending = this.#sends.get(key);
    if (!sending || sending.isPosted) return;
    const { value } = sending;
    const { dtype, data } = value;
    if (!hasLength(data, sending.length)) {
      this.#fail(lostBufferError(operationOf(post, this.#rank), this.#rank));
      return;
    }
    sending.isPosted = true;
    const posted = this.#postbox.post(post.to, {
      ...idOf(post),
      type: 'elements',
      dtype,
      length: sending.length,
      layout: shapeLayoutOf(value),
      data,
    });
    // A connection that has failed is reported by its end.
    const lose = () =>
      hasLength(data, sending.length) || this.#fail(lostBufferError(operationOf(post, this.#rank), this.#rank));
    if (posted) void posted.then(sending.resolve, lose);
    else sending.resolve();
  }

  #take(key: string, post: Extract<Post, { type: 'elements' }>): void {
    const receiving = this.#receives.get(key);
    if (!receiving) return;
    const { value } = receiving;
    const details = { operation: operationOf(post, this.#rank), rank: this.#rank };
    const differ = (sent: string, taken: string) =>
      `${details.operation}: rank ${post.from} sends ${sent}, rank ${post.to} expects ${taken}`;
    if (!hasLength(value.data, receiving.length)) this.#fail(lostBufferError(details.operation, this.#rank));
    else if (post.dtype !== value.dtype)
      this.#fail(new InternalError('ERR_COLL_DTYPE_MISMATCH', differ(post.dtype, value.dtype), details));
    else if (post.length !== receiving.length) {
      const message = differ(`${post.length} elements`, `${receiving.length}`);
      this.#fail(new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', message, details));
    } else if (post.layout !== shapeLayoutOf(value)) {
      const message = differ('a value of another shape', `the shape [${value.shape}]`);
      this.#fail(new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', message, details));
    } else {
      if (value.data !== post.data) copyElements(value.data, post.data);
      receiving.resolve();
    }
  }

  #fail(error: CollError): void {
    this.#group.fail(error);
    this.#rejectAll(this.#ownOr(error));
  }

  /** The error of each call if `error` of one of them has failed the group. */
  #ownOr(error: CollError): (operation: string) => CollError {
    return (operation) => (operation === error.operation ? error : (this.#group.failure ?? error));
  }

  #rejectAll(errorFor: (operation: string) => CollError): void {
    for (const { id, reject } of [...this.#sends.values(), ...this.#receives.values()])
      reject(errorFor(operationOf(id, this.#rank)));
  }

  /** Like `#rejectAll`, except for messages that are still arriving from ranks that have left. */
  #rejectUndrained(errorFor: (operation: string) => CollError, failure: CollError): void {
    for (const { id, reject } of [...this.#sends.values(), ...this.#receives.values()]) {
      const isKept = id.to === this.#rank && this.#postbox.isDraining?.(id.from, failure);
      if (!isKept) reject(errorFor(operationOf(id, this.#rank)));
    }
  }

  /**
   * Ends the calls that are under way if the group has failed. In the turns of the event loop between
   * two looks, this rank reads what has arrived before the failure.
   */
  #lookForFailure(): void {
    const { failure } = this.#group;
    if (failure && this.#hasSeenFailure) this.#rejectUndrained(() => failure, failure);
    this.#hasSeenFailure = failure !== undefined;
    this.#stalls?.reporter.check(failure ? undefined : this.#waiting(), failure === undefined);
  }

  /** The first call whose wait is reported. */
  #waiting(): WaitingCall | undefined {
    for (const send of this.#sends.values()) {
      const { id, since } = send;
      const { to: peer } = id;
      // Of two ranks that both send first, the lower one reports it.
      const isReported =
        this.#stalls?.repeats && peer < this.#rank && isAhead(this.#offered[peer], this.#received[peer]);
      if (!isReported) return { key: keyOf(id), since, describe: () => ({ operation: 'send', peer, missing: [peer] }) };
      // Once this rank receives, it waits for the other one anew.
      send.since = performance.now();
    }
    for (const { id, since } of this.#receives.values()) {
      const { from: peer } = id;
      // A rank may wait for work, unless the other rank waits for it, too. A launcher sees both reports.
      const isWaitedFor = isAhead(this.#requested[peer], this.#sent[peer]);
      if (!this.#stalls?.repeats || (isWaitedFor && this.#rank < peer))
        return { key: keyOf(id), since, describe: () => ({ operation: 'receive', peer, missing: [peer] }) };
    }
    return undefined;
  }

  /**
   * Checks regularly whether the group has failed elsewhere, as long as calls wait for messages.
   */
  #watch(): void {
    const isWaiting = this.#sends.size + this.#receives.size > 0;
    if (isWaiting === (this.#look !== undefined)) return;
    if (!isWaiting) {
      clearInterval(this.#look);
      this.#look = undefined;
      if (this.#stalls?.reporter.isReported) this.#stalls.reporter.check(undefined, this.#group.failure === undefined);
    } else {
      this.#look = setInterval(() => {
        this.#lookForFailure();
        this.#endIfLeft();
      }, lookMillis);
      // Only the postbox may keep the program alive. In browsers, timers have no `unref`.
      (this.#look as { unref?(): void }).unref?.();
    }
    if (!this.#isClosed) this.#postbox.setWaiting(isWaiting);
  }
}

function next(counts: number[], peer: number): number {
  const number = counts[peer] ?? 0;
  counts[peer] = (number + 1) % numbers;
  return number;
}

/** Whether a rank waits for the message with this number, of which the other side has made `made` calls. */
function isAhead(number: number | undefined, made = 0): boolean {
  return number !== undefined && number >= made;
}

function idOf({ from, to, number }: MessageId): MessageId {
  return { from, to, number };
}

function tooLate(details: Details, peer: number): CollError {
  const call = details.operation.startsWith('send') ? 'receive' : 'send';
  const message = `timed out on rank ${details.rank} waiting for rank ${peer}, which did not call ${call}`;
  return new DeadlineExceededError('ERR_COLL_DEADLINE', `${details.operation}: ${message}`, details);
}

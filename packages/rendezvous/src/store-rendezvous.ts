import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { AbortedError, CollError, DeadlineExceededError, UnavailableError } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import { decodeFailureRecord, encodeFailureRecord, errorForOthers } from './failure-record.js';
import {
  adviceForNextRun,
  decodeGenerationRecord,
  differenceOf,
  encodeGenerationRecord,
  type GenerationRecord,
  requireMember,
  requireSettings,
  type Settings,
} from './generation-record.js';
import { lateError, overtakenError } from './overtaken.js';
import { requireStore, requireValue, requireWaitFields, type Store, sameBytes, type WaitOptions } from './store.js';
import { Waits } from './waiting.js';

/** The member that joins, its group, and its timeout. */
export interface StoreRendezvousOptions extends WaitOptions {
  /**
   * Index of this group among the groups that use this store one after the other; increase it after
   * a failure. Default: 0.
   */
  readonly generation?: number;
  /** The rank of this member, from 0. Each rank joins once per generation. */
  readonly rank: number;
  /** Number of members; must be the same on all of them. At most 4096. */
  readonly size: number;
  /**
   * Settings that must be equal on all members in addition to `size`, by name, such as a protocol
   * version. If they differ, all members throw CollError. Default: none.
   */
  readonly settings?: Settings;
  /** Name of the rendezvous in error messages. Default: `join a group`. */
  readonly operation?: string;
  /**
   * The error that the other members get if the store loses this process before `end`. Stores of the
   * kind `TcpStore` detect that. Default: none.
   */
  readonly lossError?: UnavailableError | undefined;
  /**
   * Called at each step with the ranks that have not arrived yet. The set shrinks as ranks arrive.
   */
  readonly onWait?: ((missing: ReadonlySet<number>) => void) | undefined;
}

const meetingOptions = knownOptions<StoreRendezvousOptions>('StoreRendezvous', {
  timeoutSeconds: true,
  signal: true,
  generation: true,
  rank: true,
  size: true,
  settings: true,
  operation: true,
  lossError: true,
  onWait: true,
});

const noCard = new Uint8Array();
const longestTellingMillis = 1000;
// A timeout of 0 would mean no limit.
const leastSeconds = 0.001;
const checkMillis = 1000;
const longestLookSeconds = 0.5;
const unref = { ref: false };

/**
 * Lets the members of a group exchange data through a store, step by step. A member that cannot
 * continue publishes its error, so that no other member waits for it in vain.
 *
 * The store holds the newest generation with the settings of its first member (`newest`), and for
 * each failed generation the error that ended its rendezvous (`generation/0/over`). A member that
 * joins a newer generation ends the previous one. Each generation has its own keys, so data of
 * older generations does not interfere. Once a group has ended well (`finish`), the next run may use
 * any generation, with keys of its own (`run/1/generation/0/…`).
 *
 * @example
 * ```ts
 * import { MemoryStore, StoreRendezvous } from '@coll/rendezvous';
 *
 * const store = new MemoryStore();
 * const rendezvous = new StoreRendezvous(store, { rank: 0, size: 1 });
 * const cards = await rendezvous.attempt(() => rendezvous.gather('address', new Uint8Array([1])));
 * console.log(cards); // [ Uint8Array(1) [ 1 ] ]
 * rendezvous.end();
 * ```
 */
export class StoreRendezvous {
  /** Aborts when the caller or another member ends the rendezvous, or when the rendezvous fails. */
  readonly signal: AbortSignal;
  readonly #store: Store;
  readonly #own: Omit<GenerationRecord, 'run' | 'hasEnded'>;
  readonly #size: number;
  readonly #operation: string;
  readonly #timeoutSeconds: number | null;
  readonly #until: number;
  readonly #onWait: StoreRendezvousOptions['onWait'];
  readonly #lossError: UnavailableError | undefined;
  readonly #over = new AbortController();
  #entered: Promise<void> | undefined;
  /** Number of this run in the store; 0 until this member has entered. */
  #run = 0;
  #first: string | undefined;
  /** Whether this member has published a card. */
  #hasArrived = false;
  /** The time at which the store last answered, in milliseconds. */
  #heard = performance.now();

  /**
   * @throws ValueError for a rank outside the group, a store without the methods of `Store`, or an
   * invalid timeout or signal
   */
  constructor(store: Store, options: StoreRendezvousOptions) {
    requireStore(store);
    const given = optionsOf(options, '{ rank: 0, size: 2 }', meetingOptions) as StoreRendezvousOptions;
    requireWaitFields(given);
    const {
      generation = 0,
      rank,
      size,
      settings = {},
      operation = 'join a group',
      timeoutSeconds,
      signal,
      onWait,
      lossError,
    } = given;
    requireMember(generation, rank, size);
    requireSettings(settings, operation);
    this.#store = store;
    this.#own = { generation, rank, settings: { ...settings, size } };
    this.#size = size;
    this.#operation = operation;
    this.#timeoutSeconds = timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds : null;
    this.#until = this.#timeoutSeconds === null ? Infinity : performance.now() + this.#timeoutSeconds * 1000;
    this.#onWait = onWait;
    this.#lossError = lossError;
    this.signal = signal ? AbortSignal.any([this.#over.signal, signal]) : this.#over.signal;
    // Each member adds several listeners, and Node.js warns of more than ten.
    setMaxListeners(0, this.signal);
  }

  /** Seconds that remain for the rendezvous; undefined means no limit. */
  get secondsLeft(): number | undefined {
    return this.#until === Infinity ? undefined : Math.max((this.#until - performance.now()) / 1000, leastSeconds);
  }

  /**
   * Registers this member, which `gather` would do otherwise.
   * @throws the errors of `gather` for settings that differ, a newer generation, and a store that fails
   */
  enter(): Promise<void> {
    this.#entered ??= this.#answered(newestKey, () => this.#enter());
    return this.#entered;
  }

  /**
   * Publishes a card (this member's data, up to 1 MiB), waits until all members have published one
   * in this step, and returns all cards in rank order.
   * @throws CollError (ERR_COLL_STORE), on all members that are present, if their settings differ
   * or a rank is present twice; UnavailableError (ERR_COLL_STORE) if members of a newer generation
   * have arrived, or the store has lost a member's data; DeadlineExceededError if the store does
   * not answer, or if ranks, which the message lists, did not arrive; AbortedError if the signal
   * aborts; the error that another member has published
   */
  async gather(step: string, card: Uint8Array): Promise<readonly Uint8Array[]> {
    requireValue(card);
    const { generation, rank } = this.#own;
    try {
      await this.enter();
      const begin = this.#keyOf(generation, step);
      const keyOf = (member: number) => `${begin}/${member}`;
      if (!(await this.#answered(keyOf(rank), () => this.#store.compareSet(keyOf(rank), undefined, card))))
        await this.#answered(newestKey, () =>
          this.#refuse(`another process has already joined as rank ${rank} of generation ${generation}`),
        );
      this.#hasArrived = true;
      this.#heard = performance.now();
      return await this.#collect(step, keyOf, card);
    } catch (error) {
      if (this.#over.signal.aborted) throw this.#over.signal.reason;
      if (!(error instanceof AbortedError)) throw error;
      const message = `rank ${rank} was aborted while it waited for the others: ${this.#operation}`;
      throw new AbortedError(error.code, message, { rank, operation: this.#operation, cause: error.cause });
    }
  }

  /**
   * Executes this member's part of a step. If `work` throws, the rendezvous ends for all members.
   * @throws the error with which the rendezvous ended, which another member may have published
   */
  async attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const first = this.#over.signal.aborted ? this.#over.signal.reason : error;
      if (first === error) await this.fail(error);
      throw first;
    }
  }

  /** Ends the rendezvous for all members, including this one, unless it has already ended. */
  fail(error: unknown): Promise<void> {
    const forOthers = errorForOthers(error, this.#own.rank, this.#operation);
    // The original error is more useful than one of the store.
    return this.#endFor(forOthers, () => forOthers);
  }

  /**
   * Ends the rendezvous like `fail`, because another member has exited. If the store is lost as
   * well, the error reports that first, because it may be the reason why the other member has
   * exited.
   */
  reportLoss(loss: UnavailableError): Promise<void> {
    return this.#endFor(loss, (cause) => {
      if (!(cause instanceof UnavailableError) || cause.code !== 'ERR_COLL_STORE') return loss;
      const message = `${cause.message}; ${loss.message}`;
      return new UnavailableError('ERR_COLL_STORE', message, { operation: this.#operation, cause });
    });
  }

  /** Ends all waits of this member in the rendezvous. */
  end(): void {
    this.#over.abort();
    if (!this.#lossError) return;
    // Without the store, no member can learn of this generation any more.
    this.#store.setWhenLost?.(this.#overKey(this.#own.generation), undefined).catch(() => {});
  }

  /**
   * Marks the group of this rendezvous as ended well, so that the next run may use the store with
   * any generation. Does nothing if a newer group has begun, and gives up after a second.
   * @throws the errors of the store
   */
  async finish(): Promise<void> {
    await Promise.race([this.#markEnd(), pause(longestTellingMillis, undefined, unref)]);
  }

  async #markEnd(): Promise<void> {
    const bytes = await this.#store.get(newestKey, { timeoutSeconds: longestLookSeconds });
    const newest = decodeGenerationRecord(bytes, this.#operation);
    const isOwn = newest.run === this.#run && newest.generation === this.#own.generation;
    if (!isOwn || newest.hasEnded) return;
    await this.#store.compareSet(newestKey, bytes, encodeGenerationRecord({ ...newest, hasEnded: true }));
  }

  get #waiting(): WaitOptions {
    return { timeoutSeconds: this.secondsLeft ?? null, signal: this.signal };
  }

  /**
   * Registers this member for its generation, and checks that its settings equal those of the other
   * members.
   */
  async #enter(): Promise<void> {
    const own = this.#own;
    const recordOf = (run: number) => encodeGenerationRecord({ run, hasEnded: false, ...own });
    let isEntered = await this.#store.compareSet(newestKey, undefined, recordOf(0));
    while (!isEntered) {
      const bytes = await this.#store.get(newestKey, this.#waiting);
      const newest = decodeGenerationRecord(bytes, this.#operation);
      this.#run = newest.hasEnded ? newest.run + 1 : newest.run;
      if (!newest.hasEnded) {
        if (newest.generation > own.generation) {
          const overtaken = overtakenError(own.generation, newest, this.#operation);
          throw lateError(overtaken, await this.#endWith(overtaken));
        }
        if (newest.generation === own.generation) {
          const difference = differenceOf(own, newest);
          if (difference === undefined) break;
          return this.#refuse(`the members of generation ${own.generation} disagree: ${difference}`);
        }
        // The older generation ends first, so that its members stop waiting even if this member exits
        // before the next line.
        await this.#leave(newest.generation, overtakenError(newest.generation, own, this.#operation));
      }
      isEntered = await this.#store.compareSet(newestKey, bytes, recordOf(this.#run));
    }
    this.#heed();
    await this.#beWatched();
  }

  /** Lets the store end the rendezvous for the other members if this process ends. */
  async #beWatched(): Promise<void> {
    if (!this.#lossError) return;
    await this.#store.setWhenLost?.(this.#overKey(this.#own.generation), encodeFailureRecord(this.#lossError));
  }

  async #collect(step: string, keyOf: (member: number) => string, card: Uint8Array): Promise<readonly Uint8Array[]> {
    const { generation, rank } = this.#own;
    this.#first ??= step;
    const problem = step === this.#first ? 'did not arrive' : `joined, but did not reach the step "${step}"`;
    const waiting = this.#waiting;
    const members = [...Array(this.#size).keys()];
    const missing = new Set(members.filter((member) => member !== rank));
    let late: DeadlineExceededError | undefined;
    const shown = async (member: number, wait: WaitOptions): Promise<Uint8Array> => {
      if (member === rank) return Uint8Array.from(card);
      try {
        const bytes = await this.#store.get(keyOf(member), wait);
        missing.delete(member);
        return bytes;
      } catch (error) {
        // Any other error ends the wait for all members.
        if (!(error instanceof DeadlineExceededError)) throw error;
        late = error;
        return noCard;
      }
    };
    const all = async (): Promise<readonly Uint8Array[]> => {
      // A caller that reports who arrives needs an answer for each member.
      if (this.#onWait || !this.#store.getAll) return Promise.all(members.map((member) => shown(member, waiting)));
      try {
        return await this.#store.getAll(members.map(keyOf), waiting);
      } catch (error) {
        if (!(error instanceof DeadlineExceededError)) throw error;
        const look = { timeoutSeconds: longestLookSeconds, signal: this.signal };
        return Promise.all(members.map((member) => shown(member, look)));
      }
    };
    this.#onWait?.(missing);
    const done = new AbortController();
    const lost = this.#untilLost(keyOf(rank), card, done.signal);
    const cards = await Promise.race([all(), lost]).finally(() => done.abort());
    // If the store has lost this member's card, other members wait for it in vain, so this member must not continue.
    const isKept = await Promise.race([this.#keeps(keyOf(rank), card), pause(longestTellingMillis, undefined, unref)]);
    if (isKept === false) throw this.#lost();
    if (!late) return cards;
    if (isKept === undefined) throw this.#silent(late);
    const whom = `the ${this.#size} members of generation ${generation}: rank ${[...missing].join(', ')} ${problem}`;
    throw this.#late(`for ${whom}`, late, [...missing]);
  }

  /**
   * Rejects once the store has lost this member's data. Does not write the data again, because
   * other members may already have failed.
   */
  async #untilLost(key: string, card: Uint8Array, over: AbortSignal): Promise<never> {
    do await pause(checkMillis, undefined, { ...unref, signal: over });
    while ((await this.#keeps(key, card)) !== false);
    throw this.#lost();
  }

  /** Whether the store still holds this member's data; undefined if the store does not answer. */
  async #keeps(key: string, card: Uint8Array): Promise<boolean | undefined> {
    const look = { timeoutSeconds: longestLookSeconds, signal: this.signal };
    const isFound = await this.#store.get(key, look).then(
      (found) => sameBytes(found, card),
      () => false,
    );
    // Only if the card was not found, because this call may write it again. It writes nothing if the card is gone.
    const isKept = isFound || (await this.#store.compareSet(key, card, card).catch(() => undefined));
    if (isKept !== undefined) this.#heard = performance.now();
    return isKept;
  }

  /** Makes a request to the store, within the time left for the rendezvous. */
  async #answered<Result>(key: string, ask: () => Promise<Result>): Promise<Result> {
    const awaited = { operation: this.#operation, key, problem: 'was not written' };
    try {
      return await new Waits().within(awaited, this.#waiting, ask);
    } catch (cause) {
      if (!(cause instanceof DeadlineExceededError)) throw cause;
      throw this.#silent(cause);
    }
  }

  #silent(cause: unknown): DeadlineExceededError {
    const seconds = ((performance.now() - this.#heard) / 1000).toFixed(1);
    return this.#late(
      `for the store, which has not answered for ${seconds} seconds: check the server of the store`,
      cause,
    );
  }

  #lost(): UnavailableError {
    const { rank } = this.#own;
    const message = `the store lost the data of rank ${rank}: the store was emptied, restarted without its data, or expires values too early`;
    const advice = 'restart the members for the next generation, with a store that keeps its data';
    return new UnavailableError('ERR_COLL_STORE', `${message}; ${advice}`, { rank, operation: this.#operation });
  }

  #late(forWhat: string, cause: unknown, ranks?: readonly number[]): DeadlineExceededError {
    const { rank } = this.#own;
    const message = `rank ${rank} waited ${this.#timeoutSeconds} seconds ${forWhat}`;
    return new DeadlineExceededError('ERR_COLL_DEADLINE', message, { rank, ranks, operation: this.#operation, cause });
  }

  /** @throws the first error that ended this generation: that of the problem, unless there was another */
  async #refuse(problem: string): Promise<never> {
    const { generation, rank } = this.#own;
    const advice = `start all members with the same release, the same settings and a different rank each; ${adviceForNextRun(generation)}`;
    const details = { rank, operation: this.#operation };
    throw await this.#endWith(new CollError('ERR_COLL_STORE', `${problem}: ${advice}`, details));
  }

  /** Ends the rendezvous for all members. Returns the first error that ended it, the same on all members. */
  async #endWith(error: CollError): Promise<CollError> {
    const { generation } = this.#own;
    if (await this.#leave(generation, error)) return error;
    return decodeFailureRecord(await this.#store.get(this.#overKey(generation), this.#waiting), this.#operation);
  }

  async #endFor(error: CollError, withoutStore: (cause: unknown) => CollError): Promise<void> {
    let reason = error;
    const leave = () => this.#leave(this.#own.generation, error);
    // The keys of the run are known once this member has entered. If it cannot, the store fails as well.
    const telling = this.enter()
      .then(leave, leave)
      .catch((cause) => {
        reason = withoutStore(cause);
        return true;
      });
    // The store may never answer.
    const isFirst = await Promise.race([telling, pause(longestTellingMillis, true, unref)]);
    // If another error was first, `#heed` receives it.
    if (isFirst) this.#over.abort(reason);
  }

  /**
   * Publishes the error with which the rendezvous of a generation has ended. Returns false if
   * another error was published before.
   */
  #leave(generation: number, error: CollError): Promise<boolean> {
    return this.#store.compareSet(this.#overKey(generation), undefined, encodeFailureRecord(error));
  }

  /** The key with the error that ended a generation of this run. */
  #overKey(generation: number): string {
    return this.#keyOf(generation, 'over');
  }

  #keyOf(generation: number, name: string): string {
    return `${this.#run === 0 ? '' : `run/${this.#run}/`}generation/${generation}/${name}`;
  }

  #heed(): void {
    const waiting = { signal: this.signal, timeoutSeconds: null };
    this.#store.get(this.#overKey(this.#own.generation), waiting).then(
      (bytes) => this.#over.abort(this.#failureIn(bytes)),
      // The wait ends without an error of a member when the rendezvous ends, or when the store
      // fails, which the steps detect.
      () => {},
    );
  }

  /** The error with which this generation has failed. It may have failed in an earlier run. */
  #failureIn(bytes: Uint8Array): CollError {
    const error = decodeFailureRecord(bytes, this.#operation);
    const { generation, rank: ownRank } = this.#own;
    const advice = adviceForNextRun(generation);
    if (this.#hasArrived || error.message.includes(advice)) return error;
    const why = `generation ${generation} had failed before rank ${ownRank} joined; ${advice}`;
    const Kind = error.constructor as typeof CollError;
    const { code, rank, ranks, operation } = error;
    return new Kind(code, `${error.message} (${why})`, { rank, ranks, operation, cause: error });
  }
}

const newestKey = 'newest';

import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type CollError, DeadlineExceededError, UnavailableError } from '@coll/core';
import { meet, type Store, subStore } from '@coll/rendezvous';
import type { Member } from './member.js';

const longestTellingMillis = 1000;

/**
 * How the members of a group come together, step by step. Who cannot go on says so, and nobody waits for him in vain.
 */
export class Gathering {
  /** Ends when the caller, the time that there is, or another member says so. */
  readonly signal: AbortSignal;
  readonly #store: Store;
  readonly #member: Member;
  readonly #over = new AbortController();
  readonly #until: number;

  constructor(store: Store, member: Member) {
    this.#store = store;
    this.#member = member;
    this.#until = member.timeoutSeconds === undefined ? Infinity : performance.now() + member.timeoutSeconds * 1000;
    this.signal = member.signal ? AbortSignal.any([this.#over.signal, member.signal]) : this.#over.signal;
    // Some for each member; Node warns of more than ten.
    setMaxListeners(0, this.signal);
    this.#heed();
  }

  /** Seconds that are left; undefined for ever. */
  get secondsLeft(): number | undefined {
    if (this.#until === Infinity) return undefined;
    return Math.max(Math.round((this.#until - performance.now()) / 100) / 10, 0.05);
  }

  /** Shows the others something, and waits for what all show in this step. @throws what `meet` throws; UnavailableError where another member cannot go on */
  async gather(step: string, card: Uint8Array): Promise<readonly Uint8Array[]> {
    const { rank, size, generation } = this.#member;
    try {
      const within = { timeoutSeconds: this.secondsLeft ?? null, signal: this.signal };
      return await meet(subStore(this.#store, step), { generation, rank, size, card, ...within });
    } catch (error) {
      throw this.#over.signal.aborted ? this.#over.signal.reason : error;
    }
  }

  /** Does this member's part of a step. What ends it, ends it for the others. */
  async attempt<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const first = this.#over.signal.aborted ? this.#over.signal.reason : error;
      if (first === error) await this.#tellFailure(error);
      throw first;
    }
  }

  /** Nothing more will be waited for. */
  end(): void {
    this.#over.abort();
  }

  #heed(): void {
    const waiting = { signal: this.signal, timeoutSeconds: null };
    this.#store.get(this.#failureKey, waiting).then(
      (bytes) => this.#over.abort(failureOf(bytes)),
      // Nobody fails, or the store does, which the steps find out.
      () => {},
    );
  }

  async #tellFailure(error: unknown): Promise<void> {
    const { rank } = this.#member;
    const { message, code } = error as Partial<CollError>;
    const told = JSON.stringify({ rank, code, message: String(message).slice(0, 2000) });
    // The error itself is of more use than one of the store, which may never answer.
    const telling = this.#store.compareSet(this.#failureKey, undefined, Buffer.from(told)).catch(() => {});
    await Promise.race([telling, pause(longestTellingMillis, undefined, { ref: false })]);
  }

  get #failureKey(): string {
    const { generation, size } = this.#member;
    return `failure/generation/${generation}/of/${size}`;
  }
}

function failureOf(bytes: Uint8Array): CollError {
  const { rank, code, message } = parse(bytes);
  const told = `rank ${rank} cannot open the group: ${message}`;
  const details = { rank, operation: 'open a group' };
  // Time is over for all of them, whoever notices first.
  if (code === 'ERR_COLL_DEADLINE') return new DeadlineExceededError(code, told, details);
  return new UnavailableError('ERR_COLL_PEER_FAILED', told, details);
}

interface Told {
  readonly rank: number;
  readonly code?: string;
  readonly message: string;
}

function parse(bytes: Uint8Array): Told {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return { rank: -1, message: 'it says nothing that can be read' };
  }
}

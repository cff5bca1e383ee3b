import { setTimeout as pause } from 'node:timers/promises';
import { CollError, type RunOptions } from '@coll/core';
import { afterSeconds, failureError } from '@coll/core/internal';
import { abortedError } from '@coll/core/plugin';
import type { NativeProcessGroup } from './process-group.js';

const lookMillis = 20;
// A group learns of a lost member at most this much later than a member that was connected to it.
const learningMillis = 1500;
// Each step has its own time limit, and names who is missing. This one ends steps that do not end.
const graceSeconds = 2;
// A timeout of 0 would mean no limit.
const leastSeconds = 0.001;
const operation = 'split';

/** The group that is split. */
export type SplitGroup = Pick<NativeProcessGroup, 'rank' | 'failure' | 'failWith'>;

/** A new group. */
interface NewGroup {
  fail(error: unknown): void;
  close(): Promise<void>;
}

/**
 * Watches the old group while its members open a new one. The opening ends as soon as the old group
 * has failed, the caller's signal aborts, or the time limit has passed.
 */
export class SplitWatch {
  readonly #group: SplitGroup;
  /** The old rank of each member of the new group. */
  readonly #ranks: readonly number[];
  readonly #options: RunOptions;
  readonly #until: number;
  readonly #over = new AbortController();

  constructor(group: SplitGroup, ranks: readonly number[], options: RunOptions) {
    this.#group = group;
    this.#ranks = ranks;
    this.#options = options;
    const { timeoutSeconds } = options;
    this.#until = timeoutSeconds && timeoutSeconds > 0 ? performance.now() + timeoutSeconds * 1000 : Infinity;
  }

  /** What limits the next step of the opening. */
  get limits(): { readonly timeoutSeconds: number | null; readonly signal: AbortSignal } {
    const left = (this.#until - performance.now()) / 1000;
    return { timeoutSeconds: left === Infinity ? null : Math.max(left, leastSeconds), signal: this.#over.signal };
  }

  /**
   * Opens the new group.
   * @throws the failure of the old group; if the opening has failed for another reason, this reason
   * has become the failure of the old group
   */
  async during<Result extends NewGroup>(open: () => Promise<Result>): Promise<Result> {
    const { signal, timeoutSeconds } = this.#options;
    const end = () => this.#over.abort();
    const endTimer = afterSeconds(timeoutSeconds && timeoutSeconds > 0 ? timeoutSeconds + graceSeconds : null, end);
    const look = setInterval(() => {
      if (this.#failure) end();
    }, lookMillis);
    signal?.addEventListener('abort', end);
    try {
      if (signal?.aborted) end();
      const opening = open();
      const ended = new Promise<never>((_, reject) => {
        this.#over.signal.addEventListener('abort', () => reject(this.#over.signal.reason));
      });
      return await Promise.race([opening, ended]).catch(async (error) => {
        const reason = await this.#errorFor(error);
        // This member does not use a group that opens too late. Members that do must not wait for it.
        opening.then((late) => giveUp(late, reason)).catch(() => {});
        throw reason;
      });
    } finally {
      endTimer();
      clearInterval(look);
      signal?.removeEventListener('abort', end);
    }
  }

  /** The old group's failure, unless it failed because a member left that the new group does not need. */
  get #failure(): CollError | undefined {
    const failure = this.#group.failure(operation);
    const isUnrelated = failure?.code === 'ERR_COLL_CLOSED' && !this.#ranks.includes(failure.rank ?? -1);
    return isUnrelated ? undefined : failure;
  }

  async #errorFor(error: unknown): Promise<unknown> {
    const known = this.#failure;
    if (known) return known;
    const own = this.#ownError(error);
    const waits = own.code === 'ERR_COLL_ABORTED' || own.code === 'ERR_COLL_DEADLINE' ? 0 : learningMillis;
    for (const until = performance.now() + waits; ; await pause(lookMillis)) {
      const failure = this.#failure;
      if (failure) return failure;
      if (performance.now() >= until) break;
    }
    this.#group.failWith(own);
    return own;
  }

  /** The error of this member, with ranks of the old group. */
  #ownError(error: unknown): CollError {
    const { signal, timeoutSeconds } = this.#options;
    const { rank } = this.#group;
    if (signal?.aborted) return abortedError('while it was under way', signal, { operation, rank });
    const { code, message } = error as CollError;
    if (performance.now() >= this.#until || code === 'ERR_COLL_DEADLINE') {
      const missing = missingIn(error as CollError).map((other) => this.#ranks[other] as number);
      const others = missing.length > 0 ? missing : this.#ranks.filter((other) => other !== rank);
      const text = `did not open the new group within ${timeoutSeconds} seconds`;
      return failureError({ reason: 'deadline', rank, ranks: others, text }, { operation, cause: error });
    }
    if (!(error instanceof CollError)) throw error;
    const culprit = this.#ranks[error.rank ?? -1] ?? rank;
    const line = `split: rank ${rank} cannot open the new group, in which it is rank ${this.#ranks.indexOf(rank)}: ${message}`;
    return new (error.constructor as typeof CollError)(code, line, { operation, rank: culprit, cause: error });
  }
}

async function giveUp(group: NewGroup, reason: unknown): Promise<void> {
  group.fail(reason);
  await group.close();
}

/** The ranks of the new group that did not arrive, as far as an error names them. */
function missingIn({ code, operation: step, ranks = [] }: CollError): readonly number[] {
  if (code !== 'ERR_COLL_DEADLINE') return [];
  // The first member serves the store.
  return step === 'connect' ? [0] : ranks;
}

import { log, recorder, type Stall, type StallListener, stallText } from '@coll/core/internal';
import { reportStall } from '@coll/rendezvous';
import { hasStallReader, stallSecondsFrom } from '@coll/rendezvous/internal';
import type { MemberConfig } from './member-config.js';

/** A member, and the rank of each member in the whole group if the group was made by `split`. */
type StallingMember = Pick<MemberConfig, 'rank' | 'size'> & { readonly whole?: readonly number[] | undefined };

/**
 * Makes a listener for a member's stalls; undefined if `COLL_STALL_SECONDS` is 0. If a launcher reads
 * reports, the listener writes them. Otherwise the lowest rank that waits logs a warning, again after
 * each doubling of the time, and once more when the wait is over.
 * @throws ValueError for an invalid `COLL_STALL_SECONDS`
 */
export function stallListener(member: StallingMember): StallListener | undefined {
  const seconds = stallSecondsFrom();
  if (seconds === undefined) return undefined;
  return recorded(hasStallReader() ? new LauncherReports(member, seconds) : new LoggedStalls(member, seconds), member);
}

/** The same listener, which also records the stalls. */
function recorded(listener: StallListener, { rank }: StallingMember): StallListener {
  const { seconds, repeats } = listener;
  return {
    seconds,
    repeats,
    tell(source, stall, hasResumed) {
      const call = stall?.sequence;
      const text = stall ? stallText({ ...stall, waiting: [rank] }) : '';
      recorder?.note({ kind: stall ? 'stall' : 'resumed', text, rank: stall?.missing[0], call });
      listener.tell(source, stall, hasResumed);
    },
  };
}

// What this process waits for, by what waits. The launcher gets one stall per process.
const current = new Map<object, Stall>();

class LauncherReports implements StallListener {
  readonly seconds: number;
  readonly repeats = false;
  readonly #numbers: readonly number[] | undefined;

  constructor({ rank, size, whole }: StallingMember, seconds: number) {
    this.seconds = seconds;
    const { COLL_RANK, COLL_SIZE } = process.env;
    const numbers = whole ?? [...Array(size).keys()];
    // Reports name ranks by their number in the whole job, which other groups do not know.
    const isPartOfAll = Number(COLL_RANK) === numbers[rank] && (whole !== undefined || Number(COLL_SIZE) === size);
    this.#numbers = isPartOfAll ? numbers : undefined;
  }

  tell(source: object, stall: Stall | undefined): void {
    if (stall) current.set(source, inNumbers(stall, this.#numbers));
    else current.delete(source);
    const [first] = current.values();
    reportStall(first);
  }
}

class LoggedStalls implements StallListener {
  readonly seconds: number;
  readonly repeats = true;
  readonly #reported = new Set<object>();
  readonly #rank: number;
  readonly #numbers: readonly number[];

  constructor({ rank, size, whole }: StallingMember, seconds: number) {
    this.seconds = seconds;
    this.#rank = rank;
    this.#numbers = whole ?? [...Array(size).keys()];
  }

  tell(source: object, stall: Stall | undefined, hasResumed = true): void {
    if (!stall) {
      if (this.#reported.delete(source) && hasResumed) log('warn', 'no longer stalled: all ranks have resumed');
      return;
    }
    // All ranks that have arrived wait in a collective; a message has this one only.
    const ranks = stall.peer === undefined ? [...this.#numbers.keys()] : [this.#rank];
    const waiting = ranks.filter((rank) => !stall.missing.includes(rank));
    if (waiting[0] !== this.#rank) return;
    this.#reported.add(source);
    const named = inNumbers(stall, this.#numbers);
    log('warn', `stalled: ${stallText({ ...named, waiting: waiting.map((rank) => this.#numbers[rank] as number) })}`);
  }
}

/** A stall in other numbers of ranks; without missing ranks if these are unknown. */
function inNumbers({ peer, ...stall }: Stall, numbers: readonly number[] | undefined): Stall {
  const missing = numbers ? stall.missing.map((rank) => numbers[rank] as number) : [];
  if (peer === undefined) return { ...stall, missing };
  const preposition = stall.operation === 'send' ? 'to' : 'from';
  return { ...stall, operation: `${stall.operation} ${preposition} rank ${numbers?.[peer] ?? peer}`, missing };
}

/**
 * Reports if an operation that is not a collective, such as opening a group, takes too long.
 * @returns a function that ends the watch
 */
export function watchOperation(listener: StallListener | undefined, operation: string): () => void {
  if (!listener) return () => {};
  const source = {};
  let isReported = false;
  let timer: NodeJS.Timeout;
  const watch = (seconds: number, already: number) => {
    timer = setTimeout(
      () => {
        isReported = true;
        listener.tell(source, { operation, missing: [], seconds });
        if (listener.repeats) watch(2 * seconds, seconds);
      },
      1000 * (seconds - already),
    ).unref();
  };
  watch(listener.seconds, 0);
  return () => {
    clearTimeout(timer);
    if (isReported) listener.tell(source, undefined);
  };
}

/** A call that has waited too long for other ranks. */
export interface Stall {
  /** Name of the operation, such as `all-reduce sum`, or `send` or `receive` of one message. */
  readonly operation: string;
  /** Sequence number of the collective in its group; undefined for a message. */
  readonly sequence?: number | undefined;
  /** The other rank of a message. */
  readonly peer?: number | undefined;
  /** Ranks that have not arrived; empty if unknown. */
  readonly missing: readonly number[];
  /** Seconds since the event loop of each missing rank has turned. Default: unknown */
  readonly quietSeconds?: readonly number[] | undefined;
  /** Seconds that the rank has waited so far. */
  readonly seconds: number;
}

/** Receives reports of stalls. */
export interface StallListener {
  /** Seconds after which a waiting call counts as stalled. */
  readonly seconds: number;
  /** Whether to report a stall again each time that its duration has doubled. */
  readonly repeats: boolean;
  /**
   * Called with a stall, and with undefined when it has ended. `source` identifies what waits, because
   * a rank may wait in a collective and for a message at once.
   */
  tell(source: object, stall: Stall | undefined, hasResumed?: boolean): void;
}

/** A call that waits, and since when, as a time of `performance.now()`. */
export interface WaitingCall {
  readonly key: string | number;
  readonly since: number;
  describe(): Omit<Stall, 'seconds'>;
}

/** Reports the stalls of the calls that wait one after the other. */
export class StallReporter {
  readonly #listener: StallListener;
  #reported: WaitingCall['key'] | undefined;
  #next = 0;

  constructor(listener: StallListener) {
    this.#listener = listener;
  }

  /** Whether a stall was reported whose end was not. */
  get isReported(): boolean {
    return this.#reported !== undefined;
  }

  /** Reports a stall that begins, doubles or ends. `call`: the first call that waits; call regularly. */
  check(call: WaitingCall | undefined, hasResumed = true): void {
    if (this.#reported !== undefined && this.#reported !== call?.key) {
      this.#reported = undefined;
      this.#listener.tell(this, undefined, hasResumed);
    }
    if (!call) return;
    const seconds = (performance.now() - call.since) / 1000;
    const { seconds: least, repeats } = this.#listener;
    if (this.#reported === undefined) this.#next = least;
    if (seconds < this.#next) return;
    this.#reported = call.key;
    this.#next = repeats ? 2 * this.#next : Infinity;
    this.#listener.tell(this, { ...call.describe(), seconds });
  }
}

/** The ranks that wait in one call, for a message about them. */
export interface StalledRanks extends Stall {
  readonly waiting: readonly number[];
  /** What the numbers belong to. Default: `rank` */
  readonly noun?: 'rank' | 'replica';
}

/**
 * Formats a stall as text, such as `ranks 0, 1 in all-reduce sum (collective 17) for 60 seconds, rank 2
 * has not arrived`.
 */
export function stallText(stall: StalledRanks): string {
  const { waiting, operation, sequence, missing, quietSeconds = [], seconds, noun } = stall;
  const what = sequence === undefined ? operation : `${operation} (collective ${sequence})`;
  const late =
    missing.length > 0
      ? `, ${rankList(missing, noun)} ${missing.length > 1 ? 'have' : 'has'} not arrived${quietText(missing, quietSeconds)}`
      : '';
  return `${rankList(waiting, noun)} in ${what} for ${Math.round(seconds)} seconds${late}`;
}

// An event loop notes its turns about once a second.
const leastQuietSeconds = 3;

/**
 * What the event loops of ranks do that others wait for, as text that follows the ranks; empty if it is
 * unknown. `quietSeconds`: how long each of them has not turned.
 */
export function quietText(missing: readonly number[], quietSeconds: readonly number[]): string {
  if (quietSeconds.length !== missing.length) return '';
  const busy = missing.filter((_, index) => (quietSeconds[index] as number) >= leastQuietSeconds);
  if (busy.length === 0) {
    const loops = missing.length > 1 ? 'their event loops turn' : 'its event loop turns';
    return `, although ${loops}: another call may be missing there`;
  }
  const seconds = Math.floor(Math.min(...quietSeconds.filter((quiet) => quiet >= leastQuietSeconds)));
  const whose = missing.length > 1 ? `the event loop of ${rankList(busy)}` : 'its event loop';
  return `; ${whose} has been busy or blocked for ${seconds} seconds`;
}

/** Formats ranks as text, such as `ranks 0, 2`. */
export function rankList(ranks: readonly number[], noun = 'rank'): string {
  const named = ranks.slice(0, mostNamed).join(', ');
  const more = ranks.length > mostNamed ? ` and ${ranks.length - mostNamed} more` : '';
  return ranks.length === 0 ? `no ${noun}` : `${noun}${ranks.length === 1 ? '' : 's'} ${named}${more}`;
}

const mostNamed = 16;

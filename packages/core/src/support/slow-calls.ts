import { log } from './logger.js';
import { secondsText } from './quantities.js';

const kept = 15;
const fewest = 5;
const leastSeconds = 1;
const factor = 20;

/** The times of the latest executions of the same call. */
export class CallTimes {
  readonly #latest = new Float64Array(kept);
  #noted = 0;

  /**
   * Notes an execution. If it took more than a second and more than 20 times the median of the
   * latest executions, of which there must be five, returns this median; otherwise undefined.
   */
  note(seconds: number): number | undefined {
    const median = seconds > leastSeconds && this.#noted >= fewest ? this.#median : undefined;
    this.#latest[this.#noted % kept] = seconds;
    this.#noted += 1;
    return median !== undefined && seconds > factor * median ? median : undefined;
  }

  get #median(): number {
    const sorted = this.#latest.slice(0, this.#noted).sort();
    return sorted[sorted.length >> 1] as number;
  }
}

/** Logs slow calls of a group: the first, second, fourth, eighth and so on. */
export class SlowCallLog {
  readonly #rank: number;
  #slow = 0;

  constructor(rank: number) {
    this.#rank = rank;
  }

  /** `median`: what `CallTimes.note` has returned. */
  add(operation: string, seconds: number, median: number): void {
    this.#slow += 1;
    if ((this.#slow & (this.#slow - 1)) !== 0) return;
    const times = `took ${secondsText(seconds)}, usually ${secondsText(median)}`;
    const which = this.#slow === 1 ? '' : ` (slow call ${this.#slow} of this member)`;
    log('info', `slow call: ${operation} ${times}${which}`, {
      rank: this.#rank,
      event: 'slow call',
      data: { operation, seconds, medianSeconds: median, slowCalls: this.#slow },
    });
  }
}

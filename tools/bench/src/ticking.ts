/** How punctual the timers of a thread were. */
export interface Ticks {
  readonly count: number;
  /** The share of the timers that fired at most `tolerableMillis` late. */
  readonly onTimeShare: number;
  readonly worstMillis: number;
}

export const tolerableMillis = 5;

/**
 * Measures the delay of 1 ms timers. A timer is due every millisecond, also while the thread is blocked:
 * timers that are due then are late by the rest of the blocked time.
 */
export class Ticking {
  readonly #begin = performance.now();
  readonly #timer = setInterval(() => this.#tick(), 1);
  #count = 0;
  #onTime = 0;
  #worst = 0;

  /** Stops, and returns the counts. */
  end(): Ticks {
    clearInterval(this.#timer);
    this.#tick();
    return {
      count: this.#count,
      onTimeShare: this.#count === 0 ? 1 : this.#onTime / this.#count,
      worstMillis: this.#worst,
    };
  }

  #tick(): void {
    const elapsed = performance.now() - this.#begin;
    for (; this.#count + 1 <= elapsed; this.#count++) {
      const late = elapsed - (this.#count + 1);
      if (late <= tolerableMillis) this.#onTime++;
      this.#worst = Math.max(this.#worst, late);
    }
  }
}

/** The worst figures of several threads or rounds. */
export function worstOf(ticks: readonly Ticks[]): Ticks | undefined {
  if (ticks.length === 0) return undefined;
  return {
    count: ticks.reduce((sum, { count }) => sum + count, 0),
    onTimeShare: Math.min(...ticks.map(({ onTimeShare }) => onTimeShare)),
    worstMillis: Math.max(...ticks.map(({ worstMillis }) => worstMillis)),
  };
}

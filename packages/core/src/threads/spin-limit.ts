/**
 * Learns for how many ranks a waiting rank can poll. A rank that polls needs a core. If there are
 * no cores for this rank and for those that have not arrived, it keeps one of them from arriving.
 */
export class SpinLimit {
  #most: number;
  #vain = 0;
  #refusals = 0;
  #isTrial = false;

  constructor(ranks: number) {
    this.#most = ranks - 1;
  }

  /** Whether to poll while `missing` ranks have not arrived. If so, `learn` must be called afterwards. */
  allows(missing: number): boolean {
    this.#isTrial = missing > this.#most;
    if (!this.#isTrial) return true;
    if (missing > this.#most + 1) return false;
    this.#refusals++;
    if (this.#refusals < refusalsBetweenTrials) return false;
    this.#refusals = 0;
    return true;
  }

  /** Learns whether the `missing` ranks arrived while this one polled. */
  learn(missing: number, haveArrived: boolean): void {
    if (haveArrived) {
      if (missing >= this.#most) this.#vain = 0;
      this.#most = Math.max(this.#most, missing);
    } else if (!this.#isTrial) {
      this.#vain++;
      if (this.#vain < mostVain) return;
      this.#vain = 0;
      this.#most = Math.floor(this.#most * 0.75);
    }
  }
}

// A rank that computes for long before it arrives makes one wait vain, not many in a row.
const mostVain = 8;

// A vain trial takes some ten microseconds.
const refusalsBetweenTrials = 64;

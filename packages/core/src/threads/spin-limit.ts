/**
 * Learns for how many ranks a waiting rank can poll. A rank that polls needs a core. If there are
 * no cores for this rank and for those that have not arrived, it keeps one of them from arriving.
 */
export class SpinLimit {
  #most: number;
  #credit = mostCredit;
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
    if (haveArrived) this.#succeed(missing);
    else if (!this.#isTrial) this.#fail();
  }

  #succeed(missing: number): void {
    if (missing < this.#most) return;
    this.#credit = missing > this.#most ? costOfVain : Math.min(this.#credit + 1, mostCredit);
    this.#most = missing;
  }

  #fail(): void {
    this.#credit -= costOfVain;
    if (this.#credit >= 0) return;
    this.#credit = mostCredit;
    this.#most = Math.floor(this.#most * 0.75);
  }
}

// A poll in vain takes several times as long as a successful one saves. A rank that computes for
// long before it arrives makes one poll vain, not many in a row.
const costOfVain = 4;
const mostCredit = 28;

// A vain trial takes some ten microseconds.
const refusalsBetweenTrials = 64;

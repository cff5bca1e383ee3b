/** A call that has waited for others longer than it should. */
export interface Stall {
  readonly operation: string;
  /** Which of the group's calls it is. */
  readonly sequence: number;
  /** Ranks that were not seen to have come. */
  readonly missing: readonly number[];
  readonly seconds: number;
}

/** Who wants to know of stalls. */
export interface StallListener {
  /** After how long a call is one. */
  readonly seconds: number;
  /** Told once of each stall, and of its end by undefined. */
  tell(stall: Stall | undefined): void;
}

/** The call that others wait behind. */
export interface FirstCall {
  readonly number: number;
  readonly operation: string;
}

/** Looks now and then whether the first of the asynchronous calls under way is still the same. */
export class StallWatch {
  readonly #listener: StallListener;
  readonly #first: () => FirstCall | undefined;
  readonly #missing: () => readonly number[];
  #timer: NodeJS.Timeout | undefined;
  #seen: { readonly number: number; readonly since: number } | undefined;
  #told: number | undefined;

  constructor(listener: StallListener, first: () => FirstCall | undefined, missing: () => readonly number[]) {
    this.#listener = listener;
    this.#first = first;
    this.#missing = missing;
  }

  /** A call has begun, or ended. */
  look(): void {
    const first = this.#first();
    if (this.#told !== undefined && this.#told !== first?.number) {
      this.#told = undefined;
      this.#listener.tell(undefined);
    }
    if (first?.number !== this.#seen?.number) this.#seen = first && { number: first.number, since: performance.now() };
    if (first) this.#timer ??= setInterval(() => this.#check(), this.#listener.seconds * 500).unref();
    else this.#stop();
  }

  #check(): void {
    const first = this.#first();
    if (!first || !this.#seen || this.#told === first.number) return;
    const seconds = (performance.now() - this.#seen.since) / 1000;
    if (seconds < this.#listener.seconds) return;
    this.#told = first.number;
    this.#listener.tell({ operation: first.operation, sequence: first.number, missing: this.#missing(), seconds });
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

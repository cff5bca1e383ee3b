/** A call that has waited too long for other ranks. */
export interface Stall {
  readonly operation: string;
  /** Sequence number of the call in its group. */
  readonly sequence: number;
  /** Ranks that have not arrived, as far as is known. */
  readonly missing: readonly number[];
  readonly seconds: number;
}

/** Receives reports of stalls. */
export interface StallListener {
  /** Seconds after which a waiting call counts as stalled. */
  readonly seconds: number;
  /** Called with a stall when it begins, and with undefined when it ends. */
  tell(stall: Stall | undefined): void;
}

/** The pending call that all later calls wait for. */
export interface FirstCall {
  readonly number: number;
  readonly operation: string;
}

/**
 * Polls the first pending asynchronous call, and reports a stall if that call is pending for too
 * long.
 */
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

  /** Called whenever a call has begun or ended. */
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

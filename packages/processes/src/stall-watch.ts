import { type Stall, type StallListener, StallReporter } from '@coll/core/internal';

/** The pending call that all later calls wait for. */
export interface FirstCall {
  readonly number: number;
  readonly operation: string;
}

/** What a watch must know of its group. */
export interface WatchedCalls {
  /** The pending call that all later calls wait for; undefined if no call is pending. */
  first(): FirstCall | undefined;
  /** The ranks that have not arrived at that call. */
  missing(): Pick<Stall, 'missing' | 'quietSeconds'>;
  hasFailed(): boolean;
}

/**
 * Polls the first pending asynchronous call, and reports a stall if that call is pending for too
 * long. The timer goes on while calls follow each other, because it costs more than a look.
 */
export class StallWatch {
  readonly #reporter: StallReporter;
  readonly #calls: WatchedCalls;
  readonly #millis: number;
  #timer: NodeJS.Timeout | undefined;
  #seen: { readonly number: number; readonly since: number } | undefined;

  constructor(listener: StallListener, calls: WatchedCalls) {
    this.#reporter = new StallReporter(listener);
    this.#calls = calls;
    this.#millis = listener.seconds * 250;
  }

  /** Called whenever a call has begun or ended. */
  look(): void {
    this.#timer ??= setInterval(() => this.#check(), this.#millis).unref();
    if (this.#reporter.isReported) this.#check();
  }

  #check(): void {
    const first = this.#calls.first();
    if (!first) this.#stop();
    // Measured from the first look that found the call.
    if (first?.number !== this.#seen?.number) this.#seen = first && { number: first.number, since: performance.now() };
    const call = first &&
      this.#seen && {
        key: first.number,
        since: this.#seen.since,
        describe: () => ({ operation: first.operation, sequence: first.number, ...this.#calls.missing() }),
      };
    this.#reporter.check(call, !this.#calls.hasFailed());
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The right to run several collectives before any later call of the group. Runs that carry it do not wait. */
export interface Turn {
  /** Resolves once the turns taken before have ended. Undefined if none is held. */
  readonly begun: Promise<void> | undefined;
  /** Lets turns and calls that came after this one proceed. */
  end(): void;
}

/**
 * The order of a group's calls: that in which they were made. A call is delayed only while a turn
 * is held; otherwise it goes to the engine at once, which keeps the order and overlaps calls.
 *
 * @example
 * ```ts
 * import { CallOrder } from '@coll/core/plugin';
 *
 * const order = new CallOrder();
 * const calls: string[] = [];
 * await Promise.all([
 *   order.hold(async () => calls.push('two collectives', 'in one turn')),
 *   order.start(async () => calls.push('then this one')),
 * ]);
 * console.log(calls); // [ 'two collectives', 'in one turn', 'then this one' ]
 * ```
 */
export class CallOrder {
  #held: Promise<void> | undefined;

  /** Whether a later call has to wait. */
  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** Takes a turn after those taken before. Later calls wait until it ends. */
  take(): Turn {
    const begun = this.#held;
    let release = () => {};
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#held = mine;
    const end = () => {
      if (this.#held === mine) this.#held = undefined;
      release();
    };
    return { begun, end };
  }

  /** Starts a call after the turns that were taken before it. The next call may start once this one has started. */
  async start<Result>(call: () => Promise<Result>): Promise<Result> {
    const { begun, end } = this.take();
    await begun;
    let started: Promise<Result>;
    try {
      started = call();
    } finally {
      end();
    }
    return started;
  }

  /** Runs a call in a turn of its own, which ends with the call. */
  async hold<Result>(call: (turn: Turn) => Promise<Result>): Promise<Result> {
    const turn = this.take();
    try {
      if (turn.begun) await turn.begun;
      return await call(turn);
    } finally {
      turn.end();
    }
  }
}

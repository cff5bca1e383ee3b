import { noRefusals, type Refusals, refusedAgain } from '../collectives/refusals.js';

/**
 * The right to run several collectives before any later call of the group. A collective whose
 * options contain this turn does not wait for the turn to end.
 */
export interface Turn {
  /** Resolves once all earlier turns have ended. Undefined if no earlier turn is held. */
  readonly begun: Promise<void> | undefined;
  /** The calls that the rank had refused when it took the turn. */
  readonly refusals: Refusals;
  /** Lets later turns and calls proceed. */
  end(): void;
}

/**
 * Runs the calls of a group in the order in which they were made. A call is delayed only while a
 * turn is held; otherwise the engine receives it at once, keeps the order and may overlap it with
 * other calls.
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
  /** Number of collectives that have begun. Only `count` changes it. */
  begun = 0;
  /** Bytes of the local inputs or outputs of these collectives, whichever are larger. Only `count` changes it. */
  bytes = 0;
  #held: Promise<void> | undefined;
  #refusals: Refusals = noRefusals;
  readonly #parts = new Set<CallOrder>();

  /** Counts a collective of this many bytes. */
  count(bytes: number): void {
    this.bytes += bytes;
    this.begun++;
  }

  /** The calls that this rank has refused so far, a new object after each refusal. */
  get refusals(): Refusals {
    return this.#refusals;
  }

  /**
   * Counts a call that this rank has refused with `error` before the call began. Ranks compare their
   * counts in the next call. `times`: several calls were refused, the last one with `error`.
   */
  refuse(error: unknown, times = 1): void {
    this.#refusals = refusedAgain(this.#refusals, error, times);
    for (const order of this.#parts) order.refuse(error, times);
  }

  /** Makes calls that this rank refuses count in another group, too, which executes parts of its calls. */
  include(part: CallOrder): void {
    if (part !== this) this.#parts.add(part);
  }

  /** Whether a turn is held, so that new calls must wait. */
  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /**
   * Takes a turn, which begins once all earlier turns have ended. Later turns and calls wait until
   * the caller calls `end` of this turn.
   */
  take(): Turn {
    const begun = this.#held;
    let release!: () => void;
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#held = mine;
    return {
      begun,
      refusals: this.#refusals,
      end: () => {
        if (this.#held === mine) this.#held = undefined;
        release();
      },
    };
  }

  /**
   * Starts a call after all earlier turns have ended. The next call may start once this one has
   * started, before it has completed.
   */
  async start<Result>(call: () => Promise<Result>): Promise<Result> {
    const turn = this.take();
    await turn.begun;
    try {
      // Not awaited, because the turn ends once the call has started.
      return call();
    } finally {
      turn.end();
    }
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

import {
  CollError,
  type Collective,
  type Communicator,
  type DType,
  type Group,
  type ProcessGroup,
  type RunOptions,
  type Segments,
  ValueError,
} from '@coll/core';
import { endedAtOnce, hashOf, setRunOptions } from '@coll/core/internal';
import { CallOrder } from '@coll/core/plugin';

type Buffers = readonly Segments[];

/**
 * Error codes of calls that this member has not begun. Other members do not wait for such a call.
 */
const refusals: ReadonlySet<string> = new Set(['ERR_COLL_BUSY', 'ERR_COLL_CLOSED']);

export interface GroupCommunicatorOptions {
  readonly group: ProcessGroup;
  /** The communicator of the ranks of all workers. The ranks of this worker are local. */
  readonly ranks: Communicator;
  /**
   * Names for the members of `ranks` in error messages, if each of them represents several ranks of
   * the caller.
   */
  readonly names?: readonly string[] | undefined;
  /** The engine's communicator, closed together with this one. */
  readonly engine?: Communicator | undefined;
  /**
   * Whether each collective waits for the previous one. Required if `ranks` does not keep the order
   * of concurrent collectives.
   */
  readonly oneByOne?: boolean | undefined;
  /** Called for each collective. Returns a number that must be equal on all members. */
  readonly launch?: (() => number) | undefined;
}

/** The options of a call, and those for the communicator of the ranks. */
interface LaunchedOptions {
  readonly given: RunOptions;
  readonly input: Segments;
  readonly key: number;
  readonly launched: RunOptions;
}

/**
 * The ranks of all workers as one communicator. All members must cut their buffers into the same segments. If a
 * collective fails on this worker alone, the group fails, because the other workers wait for it.
 */
export class GroupCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #options: GroupCommunicatorOptions;
  readonly #order = new CallOrder();
  #latest: LaunchedOptions | undefined;

  constructor(options: GroupCommunicatorOptions) {
    const { ranks } = options;
    this.size = ranks.size;
    this.localRanks = ranks.localRanks;
    this.group = ranks.group;
    this.#options = options;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#options.ranks.refuses(collective, dtype);
  }

  run(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): Promise<void> {
    const launched = this.#launched(options, inputs);
    const { ranks, oneByOne } = this.#options;
    if (!oneByOne) return this.#watch(ranks.run(collective, inputs, outputs, launched));
    return this.#order.hold(() => this.#watch(ranks.run(collective, inputs, outputs, launched)));
  }

  runSync(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): void {
    const launched = this.#launched(options, inputs);
    try {
      this.#options.ranks.runSync(collective, inputs, outputs, launched);
    } catch (error) {
      this.#failWith(error);
      throw error;
    }
  }

  /** Closes `ranks` and the engine's communicator; the process group stays open. */
  async close(): Promise<void> {
    const { ranks, engine } = this.#options;
    await Promise.all([ranks.close(), engine?.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #launched(options: RunOptions = {}, inputs: Buffers): RunOptions {
    const input = inputs[0] ?? [];
    const key = this.#options.launch?.() ?? 0;
    const before = this.#latest;
    if (before?.given === options && before.input === input && before.key === key) return before.launched;
    const { timeoutSeconds, layout = 0, signal, sharedResult, checkCalls, turn } = options;
    const numbers = [layout, key];
    if (Array.isArray(input) && input.length > 1) for (const { data } of input) numbers.push(data.length);
    const { names } = this.#options;
    const request = names && options.request ? { ...options.request, ranks: names } : options.request;
    const made = { timeoutSeconds, layout: hashOf(numbers), request, signal, sharedResult, checkCalls, turn };
    const launched = setRunOptions(made);
    // Frozen options belong to a call that is repeated.
    if (Object.isFrozen(options)) this.#latest = { given: options, input, key, launched: Object.freeze(launched) };
    return launched;
  }

  #watch(running: Promise<void>): Promise<void> {
    if (running === endedAtOnce) return running;
    return running.catch((error) => {
      this.#failWith(error);
      throw error;
    });
  }

  /**
   * Fails the group with the error, except for calls that are invalid or have not begun: these
   * calls fail on all members anyway, because all make the same calls.
   */
  #failWith(error: unknown): void {
    const isRefused = error instanceof ValueError || (error instanceof CollError && refusals.has(error.code));
    if (isRefused || !(error instanceof Error)) return;
    const { ranks, group } = this.#options;
    // The other members get an error of the same class if the ranks can transmit it.
    if (error instanceof CollError) ranks.group.fail(error);
    else group.fail(error);
  }
}

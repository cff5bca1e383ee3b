import {
  CollError,
  type Collective,
  type Communicator,
  type PersistentCollective,
  type ProcessGroup,
  type RunOptions,
  type Segments,
  ValueError,
} from '@coll/core';
import { endedAtOnce, hashOf, setRunOptions } from '@coll/core/internal';
import { CallOrder, ForwardingCommunicator } from '@coll/core/plugin';

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
  /** A number that must be equal on all members. Default: 0. */
  readonly groupKey?: number | undefined;
  /** Called for each collective. */
  readonly count?: (() => void) | undefined;
}

/**
 * The ranks of all workers as one communicator. All members must cut their buffers into the same segments. If a
 * collective fails on this worker alone, the group fails, because the other workers wait for it.
 */
export class GroupCommunicator extends ForwardingCommunicator {
  readonly #options: GroupCommunicatorOptions;
  readonly #order = new CallOrder();

  constructor(options: GroupCommunicatorOptions) {
    super(options.ranks);
    this.#options = options;
  }

  override run(collective: Collective, inputs: Buffers, outputs: Buffers, given?: RunOptions): Promise<void> {
    const { ranks, oneByOne } = this.#options;
    const options = this.#optionsOf(inputs, given);
    this.#options.count?.();
    if (!oneByOne) return this.#watch(ranks.run(collective, inputs, outputs, options));
    return this.#order.hold(() => this.#watch(ranks.run(collective, inputs, outputs, options)));
  }

  override runSync(collective: Collective, inputs: Buffers, outputs: Buffers, given?: RunOptions): void {
    const options = this.#optionsOf(inputs, given);
    this.#options.count?.();
    this.#watchSync(() => this.#options.ranks.runSync(collective, inputs, outputs, options));
  }

  override persistent(
    collective: Collective,
    inputs: Buffers,
    outputs: Buffers,
    given?: RunOptions,
  ): PersistentCollective | undefined {
    const { ranks, oneByOne, count } = this.#options;
    if (oneByOne) return undefined;
    const options = this.#optionsOf(inputs, given);
    const prepared = this.#watchSync(() => ranks.persistent?.(collective, inputs, outputs, options));
    if (!prepared) return undefined;
    const runSync = () => prepared.runSync();
    return {
      run: () => {
        count?.();
        return this.#watch(prepared.run());
      },
      runSync: () => {
        count?.();
        this.#watchSync(runSync);
      },
    };
  }

  /** Closes `ranks` and the engine's communicator; the process group stays open. */
  override async close(): Promise<void> {
    await Promise.all([super.close(), this.#options.engine?.close()]);
  }

  /** The options for the communicator of the ranks. */
  #optionsOf(inputs: Buffers, options: RunOptions = {}): RunOptions {
    const { names, groupKey = 0 } = this.#options;
    const { timeoutSeconds, layout = 0, valueCount, values, signal, sharedResult, checkCalls, turn } = options;
    const input = inputs[0] ?? [];
    const numbers = [layout, groupKey];
    if (Array.isArray(input) && input.length > 1) for (const { data } of input) numbers.push(data.length);
    const request = names && options.request ? { ...options.request, ranks: names } : options.request;
    const own = hashOf(numbers);
    // A spread here made calls on new memory five times slower.
    return setRunOptions({
      timeoutSeconds,
      layout: own,
      valueCount,
      values,
      request,
      signal,
      sharedResult,
      checkCalls,
      turn,
    });
  }

  #watchSync<Result>(call: () => Result): Result {
    try {
      return call();
    } catch (error) {
      this.#failWith(error);
      throw error;
    }
  }

  #watch(running: Promise<void>): Promise<void> {
    if (running === endedAtOnce) return running;
    return running.catch((error) => {
      this.#failWith(error);
      throw error;
    });
  }

  /**
   * Fails the group with the error, except for calls that are invalid or have not begun: members
   * compare how many such calls each of them has refused.
   */
  #failWith(error: unknown): void {
    const { ranks, group } = this.#options;
    const isCounted = error === ranks.group.order.refusals.latest;
    const isRefused = error instanceof ValueError || (error instanceof CollError && refusals.has(error.code));
    if (isCounted || isRefused || !(error instanceof Error)) return;
    // The other members get an error of the same class if the ranks can transmit it.
    if (error instanceof CollError) ranks.group.fail(error);
    else group.fail(error);
  }
}

import { operationOf } from '../collectives/caller-request.js';
import type { Collective } from '../collectives/collective.js';
import { InternalError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { rankList } from '../support/stalls.js';
import type { DType } from '../values/dtype.js';
import { type Tensor, zeros } from '../values/tensor.js';
import { CallOrder } from './call-order.js';
import type { Communicator, Group, PersistentCollective, RunOptions, Segments } from './communicator.js';
import { hash64 } from './hash64.js';

/** @throws ValueError unless `value` is a whole number, 0 or more */
export function requireCheckResults(value: unknown): void {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return;
  throw new ValueError('ERR_COLL_VALUE', `checkResults must be a whole number, 0 or more, got ${quote(value)}`);
}

/**
 * The communicator, whose ranks compare a 64-bit hash of the results of every `every`th collective
 * that gives all ranks the same results. 0: the communicator itself, which compares nothing.
 */
export function checkedResults(communicator: Communicator, every: number): Communicator {
  return every > 0 && communicator.size > 1 ? new ResultChecker(communicator, every) : communicator;
}

/** What the communicators of a group share, so that every rank checks after the same calls. */
interface Checks {
  /** Collectives since the latest check. */
  calls: number;
  /** The order of calls within a turn of their caller, which `Group.order` does not delay. */
  readonly inTurn: CallOrder;
}

const checksOf = new WeakMap<Group, Checks>();

class ResultChecker implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #inner: Communicator;
  readonly #every: number;
  readonly #checks: Checks;

  constructor(inner: Communicator, every: number) {
    this.size = inner.size;
    this.localRanks = inner.localRanks;
    this.group = inner.group;
    this.#inner = inner;
    this.#every = every;
    this.#checks = checksOf.get(inner.group) ?? { calls: 0, inTurn: new CallOrder() };
    checksOf.set(inner.group, this.#checks);
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#inner.refuses(collective, dtype);
  }

  run(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions = {},
  ): Promise<void> {
    // No later call may come between the collective and the exchange of hashes.
    const order = options.turn ? this.#checks.inTurn : this.group.order;
    const run = (own: RunOptions) => this.#inner.run(collective, inputs, outputs, own);
    if (this.#isDue(collective))
      return order.hold(async (turn) => {
        const own = { ...options, turn: options.turn ?? turn };
        await run(own);
        const hashes = this.#hash(outputs);
        await this.#inner.run(exchange, hashes, hashes, ofCheck(collective, own, this.size));
        this.#compare(hashes, collective, options);
      });
    return options.turn && order.isHeld ? order.start(() => run(options)) : run(options);
  }

  runSync(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions = {},
  ): void {
    const isDue = this.#isDue(collective);
    this.#inner.runSync(collective, inputs, outputs, options);
    if (!isDue) return;
    const hashes = this.#hash(outputs);
    this.#inner.runSync(exchange, hashes, hashes, ofCheck(collective, options, this.size));
    this.#compare(hashes, collective, options);
  }

  persistent(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): PersistentCollective | undefined {
    const inner = this.#inner.persistent?.(collective, inputs, outputs, options);
    if (!inner || !isEqualOnAll(collective)) return inner;
    const isNext = () => this.#checks.calls + 1 === this.#every;
    const count = () => {
      this.#checks.calls++;
    };
    return {
      run: () => {
        if (isNext()) return this.run(collective, inputs, outputs, options);
        count();
        return inner.run();
      },
      runSync: () => {
        if (isNext()) return this.runSync(collective, inputs, outputs, options);
        count();
        inner.runSync();
      },
    };
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Counts a collective. Returns whether its results are to be compared. */
  #isDue(collective: Collective): boolean {
    if (!isEqualOnAll(collective)) return false;
    const { calls } = this.#checks;
    this.#checks.calls = (calls + 1) % this.#every;
    return this.#checks.calls === 0;
  }

  /** For each local rank, a vector whose sum over all ranks contains the hashes of all ranks. */
  #hash(outputs: readonly Segments[]): readonly Tensor<'int32'>[] {
    return this.localRanks.map((rank, index) => {
      const hashes = zeros('int32', [2 * this.size]);
      hashes.data.set(hash64(outputs[index] as Segments), 2 * rank);
      return hashes;
    });
  }

  /** @throws InternalError, the same on all ranks, if the hashes of the ranks differ */
  #compare([hashes]: readonly Tensor<'int32'>[], collective: Collective, { request }: RunOptions): void {
    const words = hashes?.data as Int32Array;
    const ranksByHash = new Map<string, number[]>();
    for (let rank = 0; rank < this.size; rank++) {
      const hash = `${words[2 * rank]} ${words[2 * rank + 1]}`;
      ranksByHash.set(hash, [...(ranksByHash.get(hash) ?? []), rank]);
    }
    if (ranksByHash.size === 1) return;
    const operation = operationOf({ collective, request });
    // The result of most ranks is right; of equally many, that of the lowest rank.
    const [most = [], ...others] = [...ranksByHash.values()].sort((a, b) => b.length - a.length);
    const parted = others.flat().sort((a, b) => a - b);
    const text = `${operation}: the result of ${rankList(parted)} differs from that of ${rankList(most)}`;
    const advice =
      'the memory of one of them is damaged, or its data was changed on the way; restart from a checkpoint, and test the memory of the host';
    const error = new InternalError('ERR_COLL_MISMATCH', `${text}: ${advice}`, { operation, rank: parted[0] });
    this.group.fail(error);
    throw error;
  }
}

/** The sum, because every communicator that has results to check supports it. */
const exchange: Collective = { kind: 'all-reduce', op: 'sum' };

function ofCheck(
  collective: Collective,
  { turn, signal, timeoutSeconds = null }: RunOptions,
  size: number,
): RunOptions {
  const request = { collective, dtype: 'int32', length: 2 * size, purpose: 'results' } as const;
  return { timeoutSeconds, turn, request, ...(signal ? { signal } : {}) };
}

function isEqualOnAll({ kind }: Collective): boolean {
  return kind === 'all-reduce' || kind === 'broadcast' || kind === 'all-gather';
}

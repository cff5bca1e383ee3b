import { type Failure, failureOf, keepRecord, mostOtherRanks, recordOf, textWith } from '../collectives/failures.js';
import { CollError } from '../support/errors.js';
import { allRanks } from '../support/ranks.js';
import { hasStack, withoutStack } from '../support/without-stack.js';

/**
 * Translates rank numbers in errors of a group to those of a larger group, the whole group. Each
 * rank of the group represents a contiguous range of ranks of the whole group.
 */
export class RankNames {
  /**
   * For each rank, the ranks of the whole group that this rank represents, as shown in messages,
   * such as `2, 3 (worker 1)`. The index of the worker is left out if each worker is one rank.
   */
  readonly names: readonly string[];
  readonly #begins: readonly number[];
  readonly #firsts: readonly number[];

  /**
   * `begins`: for each rank of this group, the first rank of the whole group that this rank
   * represents, followed by the end of the last range. `firsts`: the same for each worker; by
   * default each rank is a worker.
   */
  constructor(begins: readonly number[], firsts = begins) {
    this.#begins = begins;
    this.#firsts = firsts;
    this.names = allRanks(begins.length - 1).map((rank) =>
      this.#list(begins[rank] as number, begins[rank + 1] as number),
    );
  }

  /**
   * Names for the replicas of one worker. Each worker has `replicas` replicas, numbered worker by
   * worker.
   */
  static ofWorker(worker: number, replicas: number): RankNames {
    const begins = Array.from({ length: replicas + 1 }, (_, replica) => worker * replicas + replica);
    return new RankNames(begins, firstsOf(worker + 1, replicas));
  }

  /** Names for a group of workers, each of which has `replicas` replicas. */
  static ofWorkers(workers: number, replicas: number): RankNames {
    return new RankNames(firstsOf(workers, replicas));
  }

  /**
   * Translates an error of the whole group for this group: rank `r` becomes `size + r`, as in
   * `Failure`.
   */
  marked(error: CollError): CollError {
    const { message, rank, ranks } = error;
    if (rank === undefined) return error;
    const size = this.names.length;
    const marked = copyOf(
      error,
      message,
      rank + size,
      ranks?.map((other) => other + size),
    );
    const failure = inRanks(failureOf(error, rank), (other) => [other + size]);
    return keepRecord(marked, { text: [message], failure, whole: error });
  }

  /** Translates an error of this group to ranks of the whole group. */
  translated(error: unknown): unknown {
    if (!isKnown(error)) return error;
    const { text, failure, whole } = recordOf(error);
    if (whole) return whole;
    const rank = error.rank === undefined ? undefined : this.#rankOf(error.rank);
    const named = copyOf(error, textWith(text, this.#name), rank, error.ranks?.flatMap(this.#ranksOf));
    return keepRecord(named, {
      text: text.map((part) => (typeof part === 'string' ? part : this.#rankOf(part))),
      failure: failure && inRanks(failure, this.#ranksOf),
    });
  }

  /**
   * Calls a function whose errors state ranks of this group.
   * @throws the function's error, with ranks of the whole group
   */
  within<Result>(call: () => Result): Result {
    try {
      return call();
    } catch (error) {
      throw this.translated(error);
    }
  }

  readonly #name = (rank: number): string => {
    const whole = rank - this.names.length;
    return this.names[rank] ?? this.#list(whole, whole + 1);
  };

  readonly #rankOf = (rank: number): number => {
    const size = this.names.length;
    return rank < size ? (this.#begins[rank] as number) : rank - size;
  };

  readonly #ranksOf = (rank: number): number[] => {
    const begin = this.#rankOf(rank);
    const end = this.#begins[rank + 1] ?? begin + 1;
    return allRanks(end - begin).map((index) => begin + index);
  };

  #list(begin: number, end: number): string {
    const worker = this.#firsts.findLastIndex((first) => first <= begin);
    const isPlain = this.#firsts.every((first, index) => first === index);
    const ranks = allRanks(end - begin).map((rank) => begin + rank);
    const list = ranks.length > 4 ? `${begin} to ${end - 1}` : ranks.join(', ');
    return isPlain ? list : `${list} (worker ${worker})`;
  }
}

/**
 * Whether an error is a CollError that can be copied: not one that is also a TypeError or
 * RangeError.
 */
export function isKnown(error: unknown): error is CollError {
  return (
    error instanceof CollError && !((error as Error) instanceof TypeError || (error as Error) instanceof RangeError)
  );
}

function copyOf(
  error: CollError,
  message: string,
  rank: number | undefined,
  ranks: readonly number[] | undefined,
): CollError {
  const { code, cause, operation } = error;
  const Same = error.constructor as typeof CollError;
  const copy = () => new Same(code, message, { cause, rank, ranks, operation });
  return hasStack(error) ? copy() : withoutStack(copy);
}

/** The failure with each rank replaced by the ranks that `ranksOf` returns, and hosts repeated accordingly. */
function inRanks(
  { rank, ranks, lost, hosts, ...rest }: Failure,
  ranksOf: (rank: number) => readonly number[],
): Failure {
  const others = ranks.flatMap((other, index) =>
    ranksOf(other).map((each) => ({ rank: each, host: hosts?.[index + 1] })),
  );
  const named = others.slice(0, mostOtherRanks);
  return {
    ...rest,
    rank: ranksOf(rank)[0] as number,
    ranks: named.map((other) => other.rank),
    lost: lost?.flatMap(ranksOf),
    hosts: hosts && [hosts[0] ?? '', ...named.map(({ host }) => host ?? '')],
  };
}

function firstsOf(workers: number, replicas: number): number[] {
  return allRanks(workers + 1).map((worker) => worker * replicas);
}

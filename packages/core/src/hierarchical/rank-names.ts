import { type Failure, failureOf, keepFailure, keptFailure } from '../collectives/failures.js';
import { CollError } from '../support/errors.js';
import { keepWords, type RankName, wordsOf } from '../support/rank-words.js';
import { allRanks } from '../support/ranks.js';

/**
 * The ranks of the whole that the ranks of a group stand for: contiguous ranges. Errors of the
 * group count its own ranks; callers know those of the whole.
 */
export class RankNames {
  /**
   * By rank, the ranks of the whole it stands for, as in messages, with the worker if its number
   * differs: `2, 3 (worker 1)`.
   */
  readonly names: readonly string[];
  readonly #begins: readonly number[];
  readonly #firsts: readonly number[];
  /** By error with which the group was ended: the same in ranks of the whole. */
  readonly #originals = new WeakMap<CollError, CollError>();

  /**
   * `begins`: for each rank, the first rank of the whole that it stands for, followed by the end.
   * `firsts`: the same for each worker; by default each rank is a worker.
   */
  constructor(begins: readonly number[], firsts = begins) {
    this.#begins = begins;
    this.#firsts = firsts;
    this.names = allRanks(begins.length - 1).map((rank) =>
      this.#list(begins[rank] as number, begins[rank + 1] as number),
    );
  }

  /** The replicas of a single worker, numbered after those of earlier workers. */
  static ofWorker(worker: number, replicas: number): RankNames {
    const begins = Array.from({ length: replicas + 1 }, (_, replica) => worker * replicas + replica);
    return new RankNames(begins, firstsOf(worker + 1, replicas));
  }

  /** Workers with equally many replicas each. */
  static ofWorkers(workers: number, replicas: number): RankNames {
    return new RankNames(firstsOf(workers, replicas));
  }

  /** An error in ranks of the whole, for members of the group; a rank outside the group is marked as such. */
  marked(error: CollError): CollError {
    const { message, rank } = error;
    if (rank === undefined) return error;
    const marked = copyOf(error, message, rank + this.names.length);
    this.#originals.set(marked, error);
    return keepFailure(
      marked,
      inRanks(failureOf(error, rank), (other) => other + this.names.length),
    );
  }

  /** An error of the group, in ranks of the whole. */
  retold(error: unknown): unknown {
    if (!isKnown(error)) return error;
    const words = wordsOf(error);
    const failure = keptFailure(error);
    const retold = copyOf(error, words(this.#name), error.rank === undefined ? undefined : this.#rankOf(error.rank));
    keepWords(retold, (name) => words((rank) => name(this.#rankOf(rank))));
    return this.#originals.get(error) ?? (failure ? keepFailure(retold, inRanks(failure, this.#rankOf)) : retold);
  }

  /** Calls a function of the group. @throws the function's error, in ranks of the whole */
  within<Result>(call: () => Result): Result {
    try {
      return call();
    } catch (error) {
      throw this.retold(error);
    }
  }

  readonly #name: RankName = (rank) => {
    const whole = rank - this.names.length;
    return this.names[rank] ?? this.#list(whole, whole + 1);
  };

  readonly #rankOf = (rank: number): number => {
    const size = this.names.length;
    return rank < size ? (this.#begins[rank] as number) : rank - size;
  };

  #list(begin: number, end: number): string {
    const worker = this.#firsts.findLastIndex((first) => first <= begin);
    const isPlain = this.#firsts.every((first, index) => first === index);
    const ranks = allRanks(end - begin).map((rank) => begin + rank);
    const list = ranks.length > 4 ? `${begin} to ${end - 1}` : ranks.join(', ');
    return isPlain ? list : `${list} (worker ${worker})`;
  }
}

/** Whether another error of the same class can be created; some of this project are also built-in ones. */
export function isKnown(error: unknown): error is CollError {
  return (
    error instanceof CollError && !((error as Error) instanceof TypeError || (error as Error) instanceof RangeError)
  );
}

function copyOf(error: CollError, message: string, rank: number | undefined): CollError {
  const { code, cause, operation } = error;
  const Same = error.constructor as typeof CollError;
  return new Same(code, message, { cause, rank, operation });
}

function inRanks(failure: Failure, rankOf: (rank: number) => number): Failure {
  return { ...failure, rank: rankOf(failure.rank), ranks: failure.ranks.map(rankOf) };
}

function firstsOf(workers: number, replicas: number): number[] {
  return allRanks(workers + 1).map((worker) => worker * replicas);
}

import { CollError } from '../support/errors.js';
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

  /**
   * `begins`: for each rank, the first rank of the whole that it stands for, followed by the end.
   * All belong to `worker`; by default each rank is a worker.
   */
  constructor(begins: readonly number[], worker?: number) {
    this.#begins = begins;
    const names = allRanks(begins.length - 1).map((rank) => list(begins[rank] as number, begins[rank + 1] as number));
    const isPlain = names.every((name, rank) => name === `${worker ?? rank}`);
    this.names = isPlain ? names : names.map((name, rank) => `${name} (worker ${worker ?? rank})`);
  }

  /** The replicas of a single worker, numbered after those of earlier workers. */
  static ofWorker(worker: number, replicas: number): RankNames {
    const begins = Array.from({ length: replicas + 1 }, (_, replica) => worker * replicas + replica);
    return new RankNames(begins, worker);
  }

  /** Workers with equally many replicas each. */
  static ofWorkers(workers: number, replicas: number): RankNames {
    return new RankNames(Array.from({ length: workers + 1 }, (_, worker) => worker * replicas));
  }

  /** An error in ranks of the whole, for members of the group; a rank outside the group is marked as such. */
  marked(error: CollError): CollError {
    const { message, rank } = error;
    return rank === undefined ? error : copyOf(error, message, this.names.length + rank);
  }

  /** An error of the group, in ranks of the whole. */
  retold(error: unknown): unknown {
    if (!isKnown(error)) return error;
    const { message, rank } = error;
    const size = this.names.length;
    if (rank !== undefined && rank >= size) return copyOf(error, message, rank - size);
    return copyOf(error, this.#translated(error), rank === undefined ? undefined : this.#begins[rank]);
  }

  /** Calls a function of the group. @throws the function's error, in ranks of the whole */
  within<Result>(call: () => Result): Result {
    try {
      return call();
    } catch (error) {
      throw this.retold(error);
    }
  }

  /** Text after a colon comes from elsewhere and is unchanged, as is the name of the operation. */
  #translated({ code, message, operation = '' }: CollError): string {
    // Errors about a disagreement already use the ranks' names.
    const pattern = code.endsWith('MISMATCH') ? /\b(replica) (\d+)/g : /\b(rank|replica) (\d+(?:, \d+)*)/g;
    const [head = ''] = message.split(/(?<=\b(?:failed|aborted): )/, 1);
    const parts = operation === '' ? [head] : head.split(operation);
    const told = parts.map((part) =>
      part.replace(pattern, (_, word: string, ranks: string) => {
        const names = ranks.split(', ').map((rank) => this.names[Number(rank)] ?? rank);
        return `${word} ${names.join(', ')}`;
      }),
    );
    return told.join(operation) + message.slice(head.length);
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
  return new Same(code, message, {
    cause,
    ...(rank === undefined ? {} : { rank }),
    ...(operation === undefined ? {} : { operation }),
  });
}

function list(begin: number, end: number): string {
  if (end - begin > 4) return `${begin} to ${end - 1}`;
  return allRanks(end - begin)
    .map((rank) => begin + rank)
    .join(', ');
}

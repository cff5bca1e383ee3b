import { rankError } from '../collectives/failures.js';
import { OpenPacks } from '../packing/open-packs.js';
import { AbortedError, CollError, UnavailableError } from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import { flatten, type Structure } from '../values/structure.js';
import type { TensorLike } from '../values/tensor.js';

/**
 * Values that may still be computed: tensors, indexed slices, and promises of them, in any
 * structure.
 */
export type ArrivingValue = Structure<TensorLike | IndexedSlices | PromiseLike<TensorLike | IndexedSlices>>;

/** Whether a structure contains a promise. */
export function isArriving(value: unknown): value is ArrivingValue {
  if (ArrayBuffer.isView(value)) return false;
  return flatten(value as Structure<unknown>).some(isPromise);
}

/** How values that arrive one by one are reduced in groups. */
export interface Arrival {
  /** The replica's id, for errors. */
  readonly rank: number;
  /** A group of values is closed once it exceeds this many bytes. 0 means one group per dtype. */
  readonly bytesPerPack: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * Validates a value that has arrived.
   * @throws ValueError unless `came` is a tensor or indexed slices
   */
  ready(index: number, came: unknown): Value;
  /**
   * Reduces one group of values; `indices` are their indices in the whole list, in ascending order.
   */
  reduce(indices: readonly number[], values: readonly Value[]): Promise<readonly Value[]>;
  /** Ends the group of replicas, so that no replica waits for a value that will not arrive. */
  fail(error: CollError): void;
  /** Called once, when nothing is left to reduce, before the last results are delivered. */
  end?(): void;
}

/** The results of values that arrive one by one. */
export interface ArrivingResults {
  /** One promise per value. */
  readonly results: readonly Promise<Value>[];
  /**
   * Resolves when all results are available; rejects with the first error. An unhandled rejection
   * is not reported.
   */
  readonly ended: Promise<void>;
}

/** Like `ArrivingResults`, with the results in the structure of the values. */
export interface ArrivingStructure {
  readonly results: Structure<Promise<Value>>;
  readonly ended: Promise<void>;
}

const operation = 'all-reduce';

/**
 * Reduces values while others are still being computed. Values are grouped from the end of the list
 * to the front, because gradients of the last layers are ready first. A group of values is reduced
 * once its values, and all values behind them in the list, have arrived, so that all replicas
 * reduce the same groups in the same order. Sparse values form one group at the end. If a value
 * rejects, all replicas fail at once.
 */
export function reduceArriving(leaves: readonly unknown[], arrival: Arrival): ArrivingResults {
  const { rank, signal } = arrival;
  const results = leaves.map(() => new Settling<Value>());
  const ending = new Settling<void>();
  const breakWith = (error: CollError) => {
    if (ending.isSettled) return;
    arrival.fail(error);
    arrival.end?.();
    for (const settling of [...results, ending]) settling.reject(error);
  };
  leaves.forEach((leaf, index) => {
    if (isPromise(leaf)) leaf.then(undefined, (reason: unknown) => breakWith(rejected(rank, index, reason)));
  });
  const abort = () => breakWith(aborted(rank, signal?.reason));
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  const groups = new Groups(results, arrival, () => ending.resolve());
  const reduced = ending.isSettled ? Promise.resolve() : groups.reduce(leaves, ending.promise);
  reduced.catch((error: unknown) => {
    breakWith(error instanceof CollError ? error : rejected(rank, undefined, error));
  });
  const clear = () => signal?.removeEventListener('abort', abort);
  ending.promise.then(clear, clear);
  return { results: results.map(({ promise }) => promise), ended: ending.promise };
}

/** The groups of values of one call, in the order in which their reductions start. */
class Groups {
  readonly #results: readonly Settling<Value>[];
  readonly #arrival: Arrival;
  readonly #onEnd: () => void;
  readonly #values: Value[];
  #left: number;

  constructor(results: readonly Settling<Value>[], arrival: Arrival, onEnd: () => void) {
    this.#results = results;
    this.#arrival = arrival;
    this.#onEnd = onEnd;
    this.#values = new Array(results.length);
    this.#left = results.length;
  }

  /**
   * Reduces values as they arrive, until `broken` rejects.
   * @throws the first error of any group of values, as soon as the error occurs
   */
  async reduce(leaves: readonly unknown[], broken: Promise<unknown>): Promise<void> {
    const { bytesPerPack, ready } = this.#arrival;
    const packs = new OpenPacks<number>(bytesPerPack === 0 ? Number.POSITIVE_INFINITY : bytesPerPack);
    const sparse: number[] = [];
    const failure = new Settling<never>();
    const start = (group: readonly number[]) => void this.#reduce(group).catch((error) => failure.reject(error));
    const interrupted = Promise.race([broken, failure.promise]);
    for (let index = leaves.length - 1; index >= 0; index--) {
      const leaf = leaves[index];
      const value = ready(index, isPromise(leaf) ? await Promise.race([interrupted, leaf]) : leaf);
      this.#values[index] = value;
      if (value instanceof IndexedSlices) sparse.push(index);
      else {
        const full = packs.add(index, value);
        if (full) start(full);
      }
    }
    for (const group of packs.rest()) start(group);
    if (sparse.length > 0) start(sparse);
    if (leaves.length === 0) this.#finish();
    await interrupted;
  }

  async #reduce(group: readonly number[]): Promise<void> {
    const indices = group.toSorted((a, b) => a - b);
    const values = indices.map((index) => this.#values[index] as Value);
    const results = await this.#arrival.reduce(indices, values);
    this.#left -= indices.length;
    const isLast = this.#left === 0;
    if (isLast) this.#arrival.end?.();
    indices.forEach((index, position) => {
      this.#results[index]?.resolve(results[position] as Value);
    });
    if (isLast) this.#onEnd();
  }

  #finish(): void {
    this.#arrival.end?.();
    this.#onEnd();
  }
}

/**
 * A promise that is settled once, from outside. Rejections that nobody handles are not reported.
 */
class Settling<Result> {
  readonly promise: Promise<Result>;
  #isSettled = false;
  #resolve!: (result: Result) => void;
  #reject!: (error: unknown) => void;

  constructor() {
    this.promise = new Promise<Result>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.promise.catch(() => {});
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  resolve(result: Result): void {
    this.#isSettled = true;
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.#isSettled = true;
    this.#reject(error);
  }
}

function isPromise(leaf: unknown): leaf is PromiseLike<unknown> {
  return typeof leaf === 'object' && leaf !== null && 'then' in leaf && typeof leaf.then === 'function';
}

function rejected(rank: number, index: number | undefined, cause: unknown): UnavailableError {
  const what = index === undefined ? 'a value' : `value ${index}`;
  const text = [`${operation}: ${what} of replica `, rank, ` did not arrive: ${messageOf(cause)}`];
  return rankError(UnavailableError, 'ERR_COLL_PEER_FAILED', text, { rank, operation, cause });
}

function aborted(rank: number, cause: unknown): AbortedError {
  const text = [`${operation}: replica `, rank, ` aborted: ${messageOf(cause)}`];
  return rankError(AbortedError, 'ERR_COLL_ABORTED', text, { rank, operation, cause });
}

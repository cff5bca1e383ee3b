import { InvalidArgumentError } from '@coll/core';
import { log } from '@coll/core/internal';
import {
  combined,
  type Exchange,
  equalWidth,
  firstNonFinite,
  gatherValues,
  oddReplicas,
  type ReplicaInfo,
  wereEqual,
  writeEqual,
} from '@coll/strategy/internal';
import type { Elements } from './arrays.js';

/** What happens if parameters of replicas are no longer equal. */
export type OnDifference = 'throw' | 'warn';

/** An array, by its path in a tree, and a number that all its elements determine. */
export interface Print {
  readonly path: string;
  readonly sum: number;
}

/** What a step of this replica averages, and what the guard compares. */
export interface GuardedStep {
  /** The gradients and, if this replica has samples, its loss. */
  readonly values: readonly { readonly path: string; readonly elements: Elements }[];
  /** The parameters; undefined in steps that do not compare them. */
  readonly prints: readonly Print[] | undefined;
}

const functionBits = 12;
const hashBits = 32;

/** Places of the guard's numbers, behind those of the step itself. */
const places = {
  nonFinite: 0,
  hasFingerprint: 1,
  function: 2,
  fingerprint: 2 + equalWidth(functionBits),
} as const;

/** How many numbers the guard adds to each step. */
export const guardWidth = places.fingerprint + equalWidth(hashBits);

/**
 * Detects replicas that are no longer equal, by numbers that travel with the gradients: which data-parallel function
 * steps, and a fingerprint of the parameters. All replicas find a difference in the same step, and only then exchange
 * what an error needs. The guard also names the first replica whose loss or gradients contain NaN or infinity.
 */
export class StepGuard {
  readonly #info: ReplicaInfo;
  /** The number of the function, in order of creation. */
  readonly #function: number;
  readonly #onDifference: OnDifference;
  /** The number of the present step, from 1. */
  #step = 1;
  #hasNamed = false;
  #hasWarned = false;
  #nonFinite: string | undefined;
  #prints: readonly Print[] | undefined;

  constructor(info: ReplicaInfo, number: number, onDifference: OnDifference) {
    this.#info = info;
    this.#function = number;
    this.#onDifference = onDifference;
  }

  /** The number of the present step, from 1. */
  get step(): number {
    return this.#step;
  }

  /** Writes the numbers of the present step. */
  write(numbers: Float32Array, at: number, { values, prints }: GuardedStep): void {
    const index = this.#hasNamed
      ? -1
      : firstNonFinite(
          values.map(({ elements }) => elements),
          this.#step,
        );
    this.#nonFinite = values[index]?.path;
    this.#prints = prints;
    numbers[at + places.nonFinite] = index < 0 ? 0 : 1;
    writeEqual(numbers, at + places.function, this.#function, functionBits);
    if (!prints) return;
    numbers[at + places.hasFingerprint] = 1;
    writeEqual(numbers, at + places.fingerprint, combined(prints.map(({ sum }) => sum)), hashBits);
  }

  /**
   * Checks the means of the numbers over all replicas.
   * @throws InvalidArgumentError, the same on all replicas, if they differ
   */
  *check(means: Float32Array, at: number): Exchange<void> {
    const replicas = this.#info.numReplicasInSync;
    if (!wereEqual(means, at + places.function, functionBits, replicas)) yield* this.#throwMixed();
    const haveAll = (means[at + places.hasFingerprint] as number) > 1 - 1 / (2 * replicas);
    if (haveAll && !wereEqual(means, at + places.fingerprint, hashBits, replicas)) yield* this.#tellParted();
    if ((means[at + places.nonFinite] as number) > 0 && !this.#hasNamed) yield* this.#tellNonFinite();
    this.#step += 1;
  }

  *#throwMixed(): Exchange<never> {
    const numbers = yield* gatherValues(String(this.#function), this.#info);
    const [rank = 0] = oddReplicas(numbers);
    const texts = numbers.map((number, replica) => `function ${number} on replica ${replica}`).join(', ');
    throw mismatch(
      `replicas step different functions of dataParallel at the same time (numbered as created): ${texts}; create and call them in the same order on all replicas`,
      rank,
    );
  }

  *#tellParted(): Exchange<void> {
    if (this.#hasWarned) return;
    const all = yield* gatherValues({ prints: this.#prints ?? [], mode: this.#onDifference }, this.#info);
    const { length } = all[0]?.prints ?? [];
    const textsAt = (index: number) => all.map(({ prints }) => JSON.stringify(prints[index]));
    const index = Array.from({ length }, (_, at) => at).findIndex((at) => oddReplicas(textsAt(at)).length > 0);
    const odd = index < 0 ? [] : oddReplicas(textsAt(index));
    const what = index < 0 ? 'the parameters' : `the parameter ${all[0]?.prints[index]?.path}`;
    const who = odd.length > 0 ? `replica ${odd.join(', ')}` : 'some replicas';
    const message = `${what} of ${who} differs from that of the others in step ${this.#step}`;
    const text =
      this.#step === 1
        ? `replicas start with different parameters: ${message}; initialize them from the same key on all replicas, or call params = await broadcast(context, params) before the first step`
        : `replicas have parted: ${message}; update the parameters of all replicas alike, by the gradients that the step returns, and by no random numbers of a replica's own`;
    if (all.some(({ mode }) => mode === 'throw')) throw mismatch(text, odd[0]);
    this.#hasWarned = true;
    if (this.#info.replicaIdInSyncGroup === 0) log('warn', text);
  }

  *#tellNonFinite(): Exchange<void> {
    this.#hasNamed = true;
    const paths = yield* gatherValues(this.#nonFinite ?? null, this.#info);
    if (this.#info.replicaIdInSyncGroup !== 0) return;
    const found = [...paths.keys()].filter((replica) => paths[replica] !== null);
    const who = found.length === paths.length ? 'all replicas' : `replica ${found.join(', ')}`;
    const message = `NaN or infinity in the results of ${who} in step ${this.#step}, first in ${paths[found[0] as number]}`;
    log('warn', `${message}; the mean of all replicas then contains it, too; later steps are not checked`);
  }
}

function mismatch(message: string, rank: number | undefined): InvalidArgumentError {
  return new InvalidArgumentError('ERR_COLL_MISMATCH', message, { rank });
}

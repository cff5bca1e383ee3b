import { clashError } from '../call-errors.js';
import {
  type Collective,
  type CollectiveKind,
  type CollectiveOp,
  collectiveKinds,
  opOf,
  rootOf,
  variantOf,
} from '../collective.js';
import { type DType, dtypes } from '../dtype.js';
import { type CollError, InternalError, InvalidArgumentError } from '../errors.js';
import { hashOf } from '../layout.js';
import type { Schedule } from '../schedule/schedule.js';

/** What a rank brings to a collective: the request and where its memory is, in bytes of the arena. */
export interface Descriptor {
  readonly collective: Collective;
  readonly dtype: DType;
  /** Elements of the whole buffer that the schedule's chunks cut. */
  readonly length: number;
  /** Of the schedule that the rank is going to play. */
  readonly schedule: number;
  /** Of the buffer, as the caller numbers it. */
  readonly layout: number;
  readonly inputAt: number;
  readonly outputAt: number;
  /** Where a copy of an input that is small is for the others to read. */
  readonly workAt: number;
}

const ops: readonly CollectiveOp[] = ['sum', 'mean', 'min', 'max', 'product'];

// Float64s of a rank: kind, op, root, dtype, length, schedule, layout, inputAt, outputAt, workAt, variant.
const fields = 11;
// The first ones are what all ranks must agree about; a variant shows in its schedule.
const fingerprint = 7;
const lengthField = 4;
const dtypeField = 3;
const layoutField = 6;

/** In place of an offset: memory that is not read, or not written, by this collective. */
export const nowhere = -1;

/** Bytes of shared memory that the descriptors of `size` ranks take. */
export function bytesOfDescriptors(size: number): number {
  return 2 * size * fields * 8;
}

/**
 * The descriptors of all ranks in shared memory. Each rank writes its own before it advances, and reads those of the others once
 * they have: plain stores, ordered by the rendezvous. There are two of them, used by turns: who is one turn ahead writes into the other one.
 */
export class Descriptors {
  readonly #words: Float64Array;
  readonly #size: number;

  constructor(memory: SharedArrayBuffer, size: number, turn = 0) {
    this.#words = new Float64Array(memory, turn * size * fields * 8, size * fields);
    this.#size = size;
  }

  /** Writes what a rank brings; others may read it once the rank has advanced. */
  write(rank: number, { collective, dtype, length, schedule, layout, inputAt, outputAt, workAt }: Descriptor): void {
    const at = rank * fields;
    this.#words[at] = collectiveKinds.indexOf(collective.kind);
    this.#words[at + 1] = ops.indexOf(opOf(collective) as CollectiveOp);
    this.#words[at + 2] = rootOf(collective) ?? -1;
    this.#words[at + 3] = dtypes.indexOf(dtype);
    this.#words[at + 4] = length;
    this.#words[at + 5] = schedule;
    this.#words[at + 6] = layout;
    this.#words[at + 7] = inputAt;
    this.#words[at + 8] = outputAt;
    this.#words[at + 9] = workAt;
    this.#words[at + 10] = variantOf(collective);
  }

  /** What a rank has said that all ranks must agree about. */
  agreedBy(rank: number): Float64Array {
    return this.#words.subarray(rank * fields, rank * fields + fingerprint);
  }

  /** Where the input of a rank begins, in bytes of the arena; `nowhere` where there is none. */
  inputAt(rank: number): number {
    return this.#words[rank * fields + 7] as number;
  }

  /** Where the output of a rank begins, in bytes of the arena; `nowhere` where there is none. */
  outputAt(rank: number): number {
    return this.#words[rank * fields + 8] as number;
  }

  /** Where the copy of a rank's small input begins, in bytes of the arena. */
  workAt(rank: number): number {
    return this.#words[rank * fields + 9] as number;
  }

  /** The error that every rank raises when the ranks disagree about what they do; undefined when they agree. */
  mismatch(): CollError | undefined {
    for (let rank = 1; rank < this.#size; rank++) {
      for (let field = 0; field < fingerprint; field++) {
        if (this.#words[rank * fields + field] !== this.#words[field]) return this.#disagreement();
      }
    }
    return undefined;
  }

  /** The error when memory that one rank writes is used by another; undefined when all is well. A shared result may be everybody's output. */
  overlap(operation: string, inputBytes: number, outputBytes: number, sharesResult = false): CollError | undefined {
    for (let rank = 0; rank < this.#size; rank++) {
      const begin = this.outputAt(rank);
      if (begin === nowhere) continue;
      for (let other = 0; other < this.#size; other++) {
        if (other === rank) continue;
        const [input, output] = [this.inputAt(other), this.outputAt(other)];
        const meetsInput = input !== nowhere && begin < input + inputBytes && input < begin + outputBytes;
        const isResult = sharesResult && output === begin;
        const meetsOutput =
          output !== nowhere && !isResult && begin < output + outputBytes && output < begin + outputBytes;
        if (!meetsInput && !meetsOutput) continue;
        return clashError(operation, rank, other);
      }
    }
    return undefined;
  }

  #disagreement(): CollError {
    const texts = Array.from({ length: this.#size }, (_, rank) =>
      this.#words.subarray(rank * fields, rank * fields + fingerprint).join(),
    );
    // The request that most ranks make is taken for the right one, so that the odd ones are named.
    const votes = (text: string) => texts.filter((other) => other === text).length;
    const usual = texts.indexOf(texts.reduce((best, text) => (votes(text) > votes(best) ? text : best)));
    const odd = [...texts.keys()].filter((rank) => texts[rank] !== texts[usual]);
    const told = `ranks disagree: ${this.#tell(usual)} on rank ${usual}, but ${odd.map((rank) => `${this.#tell(rank)} on rank ${rank}`).join(', ')}`;
    const details = { operation: this.#kind(usual), rank: odd[0] as number };
    const onlyIn = (...allowed: number[]) => odd.every((rank) => this.#differsOnlyIn(allowed, usual, rank));
    if (onlyIn(layoutField)) {
      const shapes = `rank ${odd.join(', ')} hands in other shapes, or another structure or order of them, than rank ${usual}`;
      return new InvalidArgumentError(
        'ERR_COLL_SHAPE_MISMATCH',
        `Shape mismatch in the collective: ${shapes}`,
        details,
      );
    }
    if (onlyIn(lengthField, layoutField)) {
      return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', `Shape mismatch in the collective: ${told}`, details);
    }
    if (onlyIn(dtypeField, layoutField)) return new InternalError('ERR_COLL_DTYPE_MISMATCH', told, details);
    if (odd.every((rank) => this.#tell(rank) === this.#tell(usual))) {
      const algorithms = `rank ${odd.join(', ')} plays another algorithm than rank ${usual} in ${this.#tell(usual)}`;
      const cure = 'all ranks must name the same one, or the same implementation';
      return new InternalError('ERR_COLL_MISMATCH', `ranks disagree: ${algorithms}; ${cure}`, details);
    }
    const cure = 'all ranks must make the same calls in the same order, with sparse values on all of them or on none';
    return new InternalError('ERR_COLL_MISMATCH', `${told}; ${cure}`, details);
  }

  #tell(rank: number): string {
    const word = (field: number) => this.#words[rank * fields + field] as number;
    const op = ops[word(1)];
    const root = word(2) < 0 ? '' : ` at root ${word(2)}`;
    const variant = word(10) === 0 ? '' : ` (variant ${word(10)})`;
    return `${this.#kind(rank)}${op ? ` ${op}` : ''}${variant} of ${word(4)} ${dtypes[word(3)]} elements${root}`;
  }

  #kind(rank: number): CollectiveKind {
    return collectiveKinds[this.#words[rank * fields] as number] as CollectiveKind;
  }

  #differsOnlyIn(allowed: readonly number[], a: number, b: number): boolean {
    for (let field = 0; field < fingerprint; field++) {
      if (!allowed.includes(field) && this.#words[a * fields + field] !== this.#words[b * fields + field]) return false;
    }
    return true;
  }
}

/** A number that is the same for the same schedule, to notice ranks that play different ones. */
export function scheduleNumber({ ranks, chunks, rounds }: Schedule): number {
  const moves = rounds.flatMap((round) => [
    round.length,
    ...round.flatMap(({ from, to, chunk, reduce }) => [from, to, chunk, Number(reduce)]),
  ]);
  return hashOf([ranks, chunks, ...moves]);
}

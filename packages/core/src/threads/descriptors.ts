import { clashError } from '../collectives/call-errors.js';
import { purposes } from '../collectives/caller-request.js';
import {
  type Collective,
  type CollectiveKind,
  type CollectiveOp,
  collectiveKinds,
  opOf,
  rootOf,
  variantOf,
} from '../collectives/collective.js';
import type { Schedule } from '../schedule/schedule.js';
import { type CollError, InternalError, InvalidArgumentError } from '../support/errors.js';
import { type DType, dtypes } from '../values/dtype.js';
import { hashOf } from '../values/layout.js';
import type { CheckedCall } from './pieces.js';

/** What all ranks must agree about: what their callers ask for, and how they play it. */
export interface Asked {
  readonly collective: Collective;
  /** What that is for, as an index of `purposes`. Default: 0. */
  readonly purpose?: number;
  readonly dtype: DType;
  /** Elements of the longest buffer of a rank, which all ranks know: one that gathers or scatters may have less. */
  readonly length: number;
  /** Of the schedule that the rank is going to play. */
  readonly schedule: number;
  /** Of the buffer, as the caller numbers it. */
  readonly layout: number;
}

/** What a rank brings to a collective: the request and where its memory is, in bytes of the arena. */
export interface Descriptor extends Asked {
  readonly inputAt: number;
  readonly outputAt: number;
  /** Where a copy of an input that is small is for the others to read. */
  readonly workAt: number;
}

const ops: readonly CollectiveOp[] = ['sum', 'mean', 'min', 'max', 'product'];

// Float64s of a rank: kind and purpose, op, root, dtype, length, schedule, layout, inputAt, outputAt, workAt, variant, piecesAt.
// They lie apart, so that no rank writes a cache line of another, or its neighbour.
const stride = 32;
// Without piecesAt: what is said to others than threads has no pieces in an arena.
const fields = 11;
// The first ones are what all ranks must agree about; a variant shows in its schedule.
const fingerprint = 7;
const lengthField = 4;
const scheduleField = 5;
const dtypeField = 3;
const layoutField = 6;

const kinds = collectiveKinds.length;
const shapeMismatch = 'Shape mismatch in the collective';

/** In place of an offset: memory that is not read, or not written, by this collective. */
export const nowhere = -1;

/** What a rank says of a call: where it is a part of something larger, what that is; how it is played tells what part. */
export function askedBy(call: CheckedCall, schedule: number): Asked {
  const { collective, size, dtype, layout, request } = call;
  const length = collective.kind === 'all-to-all' ? call.length / size : call.length;
  if (!request) return { collective, dtype, length, schedule, layout };
  const part = [collectiveKinds.indexOf(collective.kind), ops.indexOf(opOf(collective) as CollectiveOp)];
  return {
    collective: request.collective,
    purpose: purposes.indexOf(request.purpose ?? 'itself'),
    dtype: request.dtype,
    length: request.length,
    schedule: hashOf([schedule, ...part, rootOf(collective) ?? -1, dtypes.indexOf(dtype), length]),
    layout,
  };
}

/** Bytes of shared memory that the descriptors of `size` ranks take. */
export function bytesOfDescriptors(size: number): number {
  return 2 * size * stride * 8;
}

/**
 * The descriptors of all ranks in shared memory. Each rank writes its own before it advances, and reads those of the others once
 * they have: plain stores, ordered by the barrier. There are two of them, used by turns: who is one turn ahead writes into the other one.
 */
export class Descriptors {
  readonly #words: Float64Array;
  readonly #size: number;

  constructor(memory: SharedArrayBuffer, size: number, turn = 0) {
    this.#words = new Float64Array(memory, turn * size * stride * 8, size * stride);
    this.#size = size;
  }

  /** Writes what a rank brings, and where the list of its pieces is, if it has several; others may read it once the rank has advanced. */
  write(rank: number, descriptor: Descriptor, piecesAt = nowhere): void {
    const { collective, purpose = 0, dtype, length, schedule, layout, inputAt, outputAt, workAt } = descriptor;
    const at = rank * stride;
    this.#words[at] = collectiveKinds.indexOf(collective.kind) + kinds * purpose;
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
    this.#words[at + 11] = piecesAt;
  }

  /** All that a rank has said, to be kept or sent. */
  saidBy(rank: number): Float64Array {
    return this.#words.subarray(rank * stride, rank * stride + fields);
  }

  /** What a rank has said that all ranks must agree about. */
  agreedBy(rank: number): Float64Array {
    return this.#words.subarray(rank * stride, rank * stride + fingerprint);
  }

  /** Where the input of a rank begins, in bytes of the arena; `nowhere` where there is none. */
  inputAt(rank: number): number {
    return this.#words[rank * stride + 7] as number;
  }

  /** Where the output of a rank begins, in bytes of the arena; `nowhere` where there is none. */
  outputAt(rank: number): number {
    return this.#words[rank * stride + 8] as number;
  }

  /** Where the copy of a rank's small input begins, in bytes of the arena. */
  workAt(rank: number): number {
    return this.#words[rank * stride + 9] as number;
  }

  /** Where the list of a rank's pieces begins, in bytes of the arena; `nowhere` where there is none. */
  piecesAt(rank: number): number {
    return this.#words[rank * stride + 11] as number;
  }

  /** The error that every rank raises when the ranks disagree about what they do, in which `names` stand for the ranks; undefined when they agree. */
  mismatch(names?: readonly string[]): CollError | undefined {
    for (let rank = 1; rank < this.#size; rank++) {
      for (let field = 0; field < fingerprint; field++) {
        if (this.#words[rank * stride + field] !== this.#words[field]) return this.#disagreement(names);
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

  #disagreement(names?: readonly string[]): CollError {
    const texts = Array.from({ length: this.#size }, (_, rank) =>
      this.#words.subarray(rank * stride, rank * stride + fingerprint).join(),
    );
    // The request that most ranks make is taken for the right one, so that the odd ones are named.
    const votes = (text: string) => texts.filter((other) => other === text).length;
    const usual = texts.indexOf(texts.reduce((best, text) => (votes(text) > votes(best) ? text : best)));
    const odd = [...texts.keys()].filter((rank) => texts[rank] !== texts[usual]);
    const named = (...ranks: number[]) => `rank ${ranks.map((rank) => names?.[rank] ?? rank).join(', ')}`;
    const others = odd.map((rank) => `${this.#tell(rank)} on ${named(rank)}`).join(', ');
    const told = `ranks disagree: ${this.#tell(usual)} on ${named(usual)}, but ${others}`;
    const details = { operation: this.#kind(usual), rank: odd[0] as number };
    // How a buffer is made up, and which schedule is played, may follow from what else differs.
    const onlyIn = (...allowed: number[]) =>
      odd.every((rank) => this.#differsOnlyIn([...allowed, layoutField, scheduleField], usual, rank));
    if (onlyIn() && odd.some((rank) => this.#differsIn(layoutField, usual, rank))) {
      const shapes = `${named(...odd)} hands in other shapes, or another structure or order of them, than ${named(usual)}`;
      return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', `${shapeMismatch}: ${shapes}`, details);
    }
    if (onlyIn() && odd.every((rank) => this.#tell(rank) === this.#tell(usual))) {
      const algorithms = `${named(...odd)} plays another algorithm than ${named(usual)} in ${this.#tell(usual)}`;
      const cure = 'all ranks must name the same one, or the same implementation';
      return new InternalError('ERR_COLL_MISMATCH', `ranks disagree: ${algorithms}; ${cure}`, details);
    }
    if (!onlyIn() && onlyIn(lengthField)) {
      return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', `${shapeMismatch}: ${told}`, details);
    }
    if (!onlyIn() && onlyIn(dtypeField)) return new InternalError('ERR_COLL_DTYPE_MISMATCH', told, details);
    const cure = 'all ranks must make the same calls in the same order, with sparse values on all of them or on none';
    return new InternalError('ERR_COLL_MISMATCH', `${told}; ${cure}`, details);
  }

  #tell(rank: number): string {
    const word = (field: number) => this.#words[rank * stride + field] as number;
    const [length, dtype] = [word(lengthField), dtypes[word(dtypeField)]];
    switch (purposes[Math.floor(word(0) / kinds)]) {
      case 'gather':
        return `${this.#kind(rank)} of ${length === 1 ? `1 ${dtype} value` : `${length} values, the first of ${dtype}`}`;
      case 'sparse':
        return `${this.#kind(rank)} of ${length} sparse ${length === 1 ? 'value' : 'values'}`;
      case 'measure':
        return 'a measurement of the links, before the first collective';
      default: {
        const op = ops[word(1)];
        const root = word(2) < 0 ? '' : ` at root ${word(2)}`;
        const variant = word(10) === 0 ? '' : ` (variant ${word(10)})`;
        return `${this.#kind(rank)}${op ? ` ${op}` : ''}${variant} of ${length} ${dtype} elements${root}`;
      }
    }
  }

  #kind(rank: number): CollectiveKind {
    return collectiveKinds[(this.#words[rank * stride] as number) % kinds] as CollectiveKind;
  }

  #differsIn(field: number, a: number, b: number): boolean {
    return this.#words[a * stride + field] !== this.#words[b * stride + field];
  }

  #differsOnlyIn(allowed: readonly number[], a: number, b: number): boolean {
    for (let field = 0; field < fingerprint; field++) {
      if (!allowed.includes(field) && this.#differsIn(field, a, b)) return false;
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

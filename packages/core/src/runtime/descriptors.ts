import { clashError } from '../collectives/call-errors.js';
import { operationOf, type Purpose, purposeName, purposes } from '../collectives/caller-request.js';
import {
  type Collective,
  type CollectiveKind,
  type CollectiveOp,
  collectiveKinds,
  opOf,
  rootOf,
  variantOf,
} from '../collectives/collective.js';
import { failureError } from '../collectives/failures.js';
import { caughtCode, caughtNumber, noRefusals, refusalFailure } from '../collectives/refusals.js';
import type { Schedule } from '../schedule/schedule.js';
import { type CollError, InternalError, InvalidArgumentError } from '../support/errors.js';
import { type DType, dtypes } from '../values/dtype.js';
import { hashOf, joinHash } from '../values/layout.js';
import { countWords } from '../values/structure.js';
import type { CheckedCall } from './segment-list.js';

/**
 * The part of a descriptor (a rank's description of its call) that must be equal on all ranks: the
 * caller's request, and how it is executed.
 */
export interface Asked {
  readonly collective: Collective;
  /** The purpose of the request, as an index of `purposes`. Default: 0. */
  readonly purpose?: number;
  readonly dtype: DType;
  /**
   * Elements of the longest buffer of any rank, which all ranks know. A rank that gathers or
   * scatters may have fewer.
   */
  readonly length: number;
  /** Hash of the schedule that the rank will execute. */
  readonly schedule: number;
  /** The caller's hash of the buffer's composition. */
  readonly layout: number;
  /** How many values the call has, as in `RunOptions`. Ranks that agree on the layout agree on it. Default: 0. */
  readonly values?: number | undefined;
  /** Number of calls that the rank has refused. Default: 0. */
  readonly refused?: number;
  /** The code of the latest refusal, as a number of `caughtNumber`. Ranks need not agree on it. Default: 0. */
  readonly caught?: number;
}

/**
 * A rank's description of its call, for the other ranks: the request, and the byte offsets of the
 * rank's memory in the arena (the shared memory).
 */
export interface Descriptor extends Asked {
  readonly inputAt: number;
  readonly outputAt: number;
  /** Offset of the copy of a small input, for the other ranks to read. */
  readonly workAt: number;
}

const ops: readonly CollectiveOp[] = ['sum', 'mean', 'min', 'max', 'product'];

// Float64s per rank: kind and purpose, op, root, dtype, length, schedule, layout, refused, inputAt,
// outputAt, workAt, variant, caught, values, piecesAt. The spacing ensures that no rank writes a cache line of
// another rank, or an adjacent one.
const stride = 32;
// Without piecesAt, because ranks outside this process have no pieces in an arena.
const fields = 14;
// The leading fields, on which all ranks must agree. A different variant shows in its schedule.
const fingerprint = 8;
const lengthField = 4;
const scheduleField = 5;
const dtypeField = 3;
const layoutField = 6;
const refusedField = 7;
const variantField = 11;
const caughtField = 12;
const valuesField = 13;
const piecesField = 14;

const kinds = collectiveKinds.length;
const shapeMismatch = 'Shape mismatch in the collective';

/** Used in place of an offset for memory that is private, or that this collective does not use. */
export const nowhere = -1;

/**
 * The part of a call's descriptor that all ranks must agree on. If the call is part of a larger
 * request, the result describes that request, and `schedule` identifies the part.
 */
export function askedBy(call: CheckedCall, schedule: number): Asked {
  const { collective, size, dtype, layout, valueCount: values, request, refusals = noRefusals } = call;
  const refused = refusals.count;
  const caught = caughtNumber(refusals);
  const length = collective.kind === 'all-to-all' ? call.length / size : call.length;
  if (!request) return { collective, dtype, length, schedule, layout, values, refused, caught };
  const part = [collectiveKinds.indexOf(collective.kind), ops.indexOf(opOf(collective) as CollectiveOp)];
  return {
    collective: request.collective,
    purpose: purposes.indexOf(request.purpose ?? 'itself'),
    dtype: request.dtype,
    length: request.length,
    schedule: hashOf([schedule, ...part, rootOf(collective) ?? -1, dtypes.indexOf(dtype), length]),
    layout,
    values,
    refused,
    caught,
  };
}

/** Bytes of shared memory for the descriptors of `size` ranks. */
export function bytesOfDescriptors(size: number): number {
  return 2 * size * stride * 8;
}

/**
 * The descriptors of all ranks in shared memory. Each rank writes its own before it advances the
 * barrier, and reads the others' once they have advanced. The stores are not atomic; the barrier
 * orders them. There are two tables, used alternately, so that a rank that is one call ahead does
 * not overwrite descriptors still in use.
 */
export class Descriptors {
  readonly #words: Float64Array;
  readonly #size: number;

  constructor(memory: ArrayBufferLike, size: number, turn = 0) {
    this.#words = new Float64Array(memory, turn * size * stride * 8, size * stride);
    this.#size = size;
  }

  /**
   * Writes a rank's descriptor, and the offset of its piece list if its buffer has several pieces.
   * Others may read them once the rank has advanced the barrier.
   */
  write(rank: number, descriptor: Descriptor, piecesAt = nowhere): void {
    const { collective, purpose = 0, dtype, length, schedule, layout, inputAt, outputAt, workAt } = descriptor;
    const { values = 0, refused = 0, caught = 0 } = descriptor;
    const at = rank * stride;
    this.#words[at] = collectiveKinds.indexOf(collective.kind) + kinds * purpose;
    this.#words[at + 1] = ops.indexOf(opOf(collective) as CollectiveOp);
    this.#words[at + 2] = rootOf(collective) ?? -1;
    this.#words[at + 3] = dtypes.indexOf(dtype);
    this.#words[at + 4] = length;
    this.#words[at + 5] = schedule;
    this.#words[at + 6] = layout;
    this.#words[at + refusedField] = refused;
    this.#words[at + 8] = inputAt;
    this.#words[at + 9] = outputAt;
    this.#words[at + 10] = workAt;
    this.#words[at + variantField] = variantOf(collective);
    this.#words[at + caughtField] = caught;
    this.#words[at + valuesField] = values;
    this.#words[at + piecesField] = piecesAt;
  }

  /** A copy of a rank's complete descriptor (its description of its call). */
  announcedBy(rank: number): Float64Array {
    return this.#words.subarray(rank * stride, rank * stride + fields);
  }

  /** The fields of a rank's descriptor that all ranks must agree on. */
  negotiatedBy(rank: number): Float64Array {
    return this.#words.subarray(rank * stride, rank * stride + fingerprint);
  }

  /** Byte offset of a rank's input in the arena (the shared memory); `nowhere` if there is none. */
  inputAt(rank: number): number {
    return this.#words[rank * stride + 8] as number;
  }

  /** Byte offset of a rank's output in the arena (the shared memory); `nowhere` if there is none. */
  outputAt(rank: number): number {
    return this.#words[rank * stride + 9] as number;
  }

  /** Byte offset, in the arena (the shared memory), of the copy of a rank's small input. */
  workAt(rank: number): number {
    return this.#words[rank * stride + 10] as number;
  }

  /** Byte offset of a rank's list of pieces in the arena (the shared memory); `nowhere` if there is none. */
  piecesAt(rank: number): number {
    return this.#words[rank * stride + piecesField] as number;
  }

  /** The name of a rank's call, as in the errors of its caller. */
  operation(rank: number): string {
    const word = (field: number) => this.#words[rank * stride + field] as number;
    const collective = { kind: this.#kind(rank), op: ops[word(1)], root: word(2) } as Collective;
    const purpose = this.#purpose(rank);
    return operationOf({ collective, request: { collective, dtype: 'uint8', length: 0, purpose } });
  }

  /**
   * The error that every rank throws if the ranks disagree; undefined if they agree. `names` are
   * the names of the ranks.
   */
  mismatch(names?: readonly string[]): CollError | undefined {
    for (let rank = 1; rank < this.#size; rank++) {
      for (let field = 0; field < fingerprint; field++) {
        if (this.#words[rank * stride + field] !== this.#words[field]) return this.#disagreement(names);
      }
    }
    return undefined;
  }

  /**
   * The error if one rank writes memory that another one uses; undefined otherwise. A shared result
   * may be the output of all ranks.
   */
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
    const refusal = this.#refusal(names);
    if (refusal) return refusal;
    const end = this.#end(names);
    if (end) return end;
    const texts = Array.from({ length: this.#size }, (_, rank) =>
      this.#words.subarray(rank * stride, rank * stride + fingerprint).join(),
    );
    // The majority's request is taken as the right one, so that the error names the others.
    const votes = (text: string) => texts.filter((other) => other === text).length;
    const usual = texts.indexOf(texts.reduce((best, text) => (votes(text) > votes(best) ? text : best)));
    const odd = [...texts.keys()].filter((rank) => texts[rank] !== texts[usual]);
    const named = (...ranks: number[]) => `rank ${ranks.map((rank) => names?.[rank] ?? rank).join(', ')}`;
    const others = odd.map((rank) => `${this.#tell(rank)} on ${named(rank)}`).join(', ');
    const message = `ranks disagree: ${this.#tell(usual)} on ${named(usual)}, but ${others}`;
    const details = { operation: this.#kind(usual), rank: odd[0] as number };
    // Layout and schedule may differ as a consequence of another difference.
    const onlyIn = (...allowed: number[]) =>
      odd.every((rank) => this.#differsOnlyIn([...allowed, layoutField, scheduleField], usual, rank));
    if (onlyIn(lengthField, dtypeField) && odd.some((rank) => this.#differsIn(valuesField, usual, rank))) {
      const passed = [usual, ...odd].map((rank) => `${named(rank)} passes ${this.#passedBy(rank)}`).join(', ');
      const message = `${shapeMismatch}: ${passed}; all ranks must pass the same structure`;
      return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', message, details);
    }
    if (onlyIn() && odd.some((rank) => this.#differsIn(layoutField, usual, rank))) {
      const shapes = `${named(...odd)} passes values of other shapes, or in another structure or order, than ${named(usual)}`;
      return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', `${shapeMismatch}: ${shapes}`, details);
    }
    if (onlyIn() && odd.every((rank) => this.#tell(rank) === this.#tell(usual))) {
      const algorithms = `${named(...odd)} uses another algorithm than ${named(usual)} for ${this.#tell(usual)}`;
      const advice = 'all ranks must choose the same algorithm, or the same implementation';
      return new InternalError('ERR_COLL_MISMATCH', `ranks disagree: ${algorithms}; ${advice}`, details);
    }
    if (!onlyIn() && onlyIn(lengthField)) {
      return new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', `${shapeMismatch}: ${message}`, details);
    }
    if (!onlyIn() && onlyIn(dtypeField)) return new InternalError('ERR_COLL_DTYPE_MISMATCH', message, details);
    const advice = 'all ranks must make the same calls in the same order, with sparse values on all of them or on none';
    return new InternalError('ERR_COLL_MISMATCH', `${message}; ${advice}`, details);
  }

  /** The error if ranks have refused different numbers of calls; undefined otherwise. */
  #refusal(names?: readonly string[]): CollError | undefined {
    const counts = Array.from({ length: this.#size }, (_, rank) => this.#words[rank * stride + refusedField] as number);
    const most = Math.max(...counts);
    if (Math.min(...counts) === most) return undefined;
    const rank = counts.indexOf(most);
    const code = caughtCode(this.#words[rank * stride + caughtField] as number);
    return failureError(refusalFailure(rank, code), { operation: this.operation(rank), names });
  }

  /** The error if replicas have ended while others wait for them; undefined otherwise. */
  #end(names?: readonly string[]): CollError | undefined {
    const ranks = Array.from({ length: this.#size }, (_, rank) => rank);
    const ended = ranks.filter((rank) => this.#purpose(rank) === 'run end');
    const waiting = ranks.filter((rank) => !ended.includes(rank));
    const [first] = ended;
    if (first === undefined || waiting.length === 0) return undefined;
    const named = (rank: number) => `replica ${names?.[rank] ?? rank}`;
    const waits = waiting.map((rank) => `${named(rank)} waits in ${this.#tell(rank)}`).join(', ');
    const causes = 'unequal numbers of batches, early stopping, or an `if` that only one replica enters';
    const message = `${ended.map(named).join(', ')} has ended, ${waits}: ${causes}`;
    const advice = 'all replicas must make the same calls in the same order';
    const operation = this.operation(waiting[0] as number);
    return new InternalError('ERR_COLL_MISMATCH', `${message}; ${advice}`, { operation, rank: first });
  }

  #tell(rank: number): string {
    const word = (field: number) => this.#words[rank * stride + field] as number;
    const [length, dtype] = [word(lengthField), dtypes[word(dtypeField)]];
    const purpose = this.#purpose(rank);
    const own = purposeName(purpose);
    if (own !== undefined && purpose !== 'variable') return own;
    switch (purpose) {
      case 'variable':
        return `${own} of ${length} ${dtype} ${length === 1 ? 'element' : 'elements'}`;
      case 'gather':
        return `${this.#kind(rank)} of ${length === 1 ? `1 ${dtype} value` : `${length} values, the first of ${dtype}`}`;
      case 'sparse':
        return `${this.#kind(rank)} of ${length} sparse ${length === 1 ? 'value' : 'values'}`;
      case 'measure':
        return 'a measurement of the links, before the first collective';
      default: {
        const op = ops[word(1)];
        const root = word(2) < 0 ? '' : ` at root ${word(2)}`;
        const variant = word(variantField) === 0 ? '' : ` (variant ${word(variantField)})`;
        return `${this.#kind(rank)}${op ? ` ${op}` : ''}${variant} of ${length} ${dtype} elements${root}`;
      }
    }
  }

  #passedBy(rank: number): string {
    return countWords(this.#words[rank * stride + valuesField] as number);
  }

  #purpose(rank: number): Purpose {
    return purposes[Math.floor((this.#words[rank * stride] as number) / kinds)] ?? 'itself';
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

/** A hash of a schedule, to detect ranks that execute different ones. */
export function scheduleNumber({ ranks, chunks, rounds }: Schedule): number {
  let hash = hashOf([ranks, chunks]);
  for (const round of rounds) {
    hash = joinHash(hash, round.length);
    for (const { from, to, chunk, reduce } of round) {
      hash = joinHash(joinHash(joinHash(joinHash(hash, from), to), chunk), Number(reduce));
    }
  }
  return hash;
}

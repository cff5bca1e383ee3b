import { operationOf } from '../collectives/caller-request.js';
import { type Collective, inputBlocks, outputBlocks, outputDType, reads, writes } from '../collectives/collective.js';
import type { Arena } from '../runtime/arena.js';
import { type Asked, askedBy, type Descriptor, nowhere } from '../runtime/descriptors.js';
import { JoinedSegments } from '../runtime/joined-segments.js';
import type { Plan, Plans } from '../runtime/plans.js';
import type { CheckedCall, SegmentList } from '../runtime/segment-list.js';
import { blockCount, hasBlocks } from '../schedule/goal.js';
import { byteSize, type DType } from '../values/dtype.js';
import { hashOf } from '../values/layout.js';
import type { SegmentCuts, SegmentOffsets } from './segment-table.js';
import { bytesOfStaging, inputSlot, outputSlot, StagingBuffer, type StagingShape } from './staging-buffer.js';

/**
 * How ranks access each other's memory.
 * - *small*: every rank copies its input to shared memory and, after one synchronization, computes
 *   all results itself. There are two copies, used alternately, so that the next call may overwrite
 *   a copy once all ranks have synchronized again.
 * - *blocks*: shared memory is used directly; private memory goes through a staging buffer block by
 *   block.
 * - *whole*: private memory goes through a staging buffer as one block, because inputs or outputs
 *   are themselves blocks of a whole buffer.
 */
export type Protocol = 'small' | 'blocks' | 'whole';

/** A validated call of one rank. It can be repeated on the same memory without another check. */
export interface Offer {
  readonly operation: string;
  /** Names of the ranks in messages. Default: their numbers. */
  readonly ranks: readonly string[] | undefined;
  readonly plan: Plan;
  /** Number of elements of the whole buffer. */
  readonly length: number;
  readonly isShared: boolean;
  readonly cuts: SegmentCuts;
  /** Bytes of the input of a rank that reads one (`outputBytes`: of the output of a rank that writes one). */
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly protocol: Protocol;
  /** Shape of the staging buffers, equal on all ranks. */
  readonly shape: StagingShape;
  /**
   * The rank's contributions to turns 0 and 1, which its calls use alternately. Both are the same
   * object if the turns need no separate memory.
   */
  readonly contributions: readonly [Contribution, Contribution];
  /**
   * Allocates a staging buffer for a rank whose own memory is shared, if another rank of the call
   * needs one.
   */
  makeStagingBuffer(): StagingBuffer;
}

/**
 * A rank's contribution to a call. `slice` is the rank's work, undefined until the rank has read
 * the contributions of the others.
 */
export interface Contribution {
  /** Identifies this contribution among those of its rank. */
  readonly number: number;
  descriptor: Descriptor;
  /** Offsets of all pieces if the buffer has several; the descriptor holds only the first piece. */
  readonly pieces: SegmentOffsets | undefined;
  stagingBuffer: StagingBuffer | undefined;
  /** The numbers of all ranks' contributions for which `slice` was made. */
  readonly seen: Int32Array;
  /**
   * Whether memory is copied through staging buffers. `isMixed`: whether some ranks have not
   * published a staging buffer yet.
   */
  isStaged: boolean;
  isMixed: boolean;
  slice: WorkSlice | undefined;
}

/** One rank's work in a collective between synchronizations. */
export interface WorkSlice {
  /** Number of consecutive blocks of the buffer that are loaded, folded and stored separately. */
  readonly blocks: number;
  /**
   * Starts or continues a block. May stop at time `until` of `performance.now()`. Returns whether
   * the block is done.
   */
  execute(block: number, until: number): boolean;
}

/** Up to this many bytes, a copy costs less than a second synchronization. */
const smallBytes = 512;

/** Bytes of a block. Two blocks from each of a few ranks fit into the L2 caches. */
const blockBytes = 1 << 18;

export interface OffersOptions {
  readonly rank: number;
  readonly size: number;
  readonly arena: Arena;
  readonly plans: Plans;
  readonly nextNumber: () => number;
}

/** Makes the offers (validated calls) of one rank. */
export class Offers {
  readonly #options: OffersOptions;
  readonly #places = new Map<string, { at: number; bytes: number }>();

  constructor(options: OffersOptions) {
    this.#options = options;
  }

  make(call: CheckedCall): Offer {
    const { collective, dtype, length, begins, isShared, request } = call;
    const plan = this.#options.plans.find(collective, dtype);
    const schedule = isShared ? hashOf([plan.number, 1]) : plan.number;
    const asked = askedBy(call, schedule);
    const form = formOf(collective, dtype, length, this.#options.size);
    const memory = this.#memoryOf(call, form.protocol);
    const part = (turn: number): Contribution => this.#part(asked, form, memory, turn);
    const first = part(0);
    return {
      ...form,
      operation: operationOf(call),
      ranks: request?.ranks,
      plan,
      length,
      isShared,
      cuts: { begins, inputSize: byteSize(dtype), outputSize: byteSize(outputDType(collective, dtype)) },
      contributions: [first, form.protocol === 'small' ? part(1) : first],
      makeStagingBuffer: () => this.#stage('stage', form.shape, memory.input, memory.output),
    };
  }

  #memoryOf({ collective, inputs: [input = []], outputs: [output = []] }: CheckedCall, protocol: Protocol): Memory {
    const { rank } = this.#options;
    const [isRead, isWritten] = [reads(collective, rank), writes(collective, rank)];
    // Small inputs are copied as a whole.
    const isSingle = input.length === 1;
    const [inputs, outputs] = [
      isRead && (isSingle || protocol === 'blocks') ? this.#placesOf(input) : input.map(() => nowhere),
      isWritten && (isSingle || protocol === 'blocks') ? this.#placesOf(output) : output.map(() => nowhere),
    ];
    return {
      input: isRead ? new JoinedSegments(input) : undefined,
      output: isWritten ? new JoinedSegments(output) : undefined,
      inputAt: inputs[0] as number,
      outputAt: outputs[0] as number,
      pieces: isSingle ? undefined : { inputs, outputs },
    };
  }

  /**
   * Offsets of a buffer's pieces in the arena (the shared memory); `nowhere` for all pieces if any
   * piece is private.
   */
  #placesOf(pieces: SegmentList): readonly number[] {
    const isPlaced = pieces.every(({ data }) => this.#options.arena.holds(data));
    return pieces.map(({ data }) => (isPlaced ? data.byteOffset : nowhere));
  }

  #part(
    asked: Asked,
    { protocol, shape }: Form,
    { input, output, inputAt, outputAt, pieces }: Memory,
    turn: number,
  ): Contribution {
    const { size, nextNumber } = this.#options;
    const privateInput = inputAt === nowhere ? input : undefined;
    const privateOutput = outputAt === nowhere ? output : undefined;
    let stage: StagingBuffer | undefined;
    let places = { inputAt, outputAt };
    if (protocol === 'small') stage = this.#stage(`small ${turn}`, shape, input, privateOutput);
    else if (protocol === 'blocks' && (privateInput || privateOutput))
      stage = this.#stage('stage', shape, input, output);
    else if (privateInput || privateOutput) stage = this.#stage('stage', shape, privateInput, privateOutput);
    const workAt = stage?.at ?? nowhere;
    if (protocol !== 'blocks') {
      places = {
        inputAt: privateInput && protocol === 'whole' ? workAt + inputSlot(shape, 0) : inputAt,
        outputAt: privateOutput ? workAt + outputSlot(shape, 0) : outputAt,
      };
    }
    return {
      number: nextNumber(),
      descriptor: { ...asked, ...places, workAt },
      pieces,
      stagingBuffer: stage,
      seen: new Int32Array(size),
      isStaged: false,
      isMixed: false,
      slice: undefined,
    };
  }

  #stage(purpose: string, shape: StagingShape, input?: JoinedSegments, output?: JoinedSegments): StagingBuffer {
    const { arena } = this.#options;
    const at = this.#reserve(purpose, bytesOfStaging(shape));
    return new StagingBuffer({ bytes: arena.bytes, at }, shape, input, output);
  }

  #reserve(purpose: string, bytes: number): number {
    const kept = this.#places.get(purpose);
    if (kept && kept.bytes >= bytes) return kept.at;
    // Doubling bounds the memory wasted by outgrown places; the arena never takes memory back.
    const wanted = Math.max(bytes, 2 * (kept?.bytes ?? 0), smallBytes);
    const made = { at: this.#options.arena.reserve(wanted), bytes: wanted };
    this.#places.set(purpose, made);
    return made.at;
  }
}

/** The memory that a rank reads and writes, and the offsets of that memory in the arena (the shared memory). */
interface Memory {
  readonly input: JoinedSegments | undefined;
  readonly output: JoinedSegments | undefined;
  readonly inputAt: number;
  readonly outputAt: number;
  readonly pieces: SegmentOffsets | undefined;
}

/** The fields of an offer (a validated call) that are equal on all ranks if the ranks make the same call. */
type Form = Pick<Offer, 'protocol' | 'shape' | 'inputBytes' | 'outputBytes'>;

function formOf(collective: Collective, dtype: DType, length: number, size: number): Form {
  const resultDType = outputDType(collective, dtype);
  const block = length / blockCount(collective.kind, size);
  const [inputLength, outputLength] = [block * inputBlocks(collective, size), block * outputBlocks(collective, size)];
  const [inputBytes, outputBytes] = [inputLength * byteSize(dtype), outputLength * byteSize(resultDType)];
  const shape = { dtype, resultDType, inputLength, outputLength, slots: 1, isInPlace: false };
  if (Math.max(inputBytes, outputBytes) <= smallBytes) return { protocol: 'small', shape, inputBytes, outputBytes };
  if (hasBlocks(collective.kind)) return { protocol: 'whole', shape, inputBytes, outputBytes };
  const part = Math.min(length, blockBytes / Math.max(byteSize(dtype), byteSize(resultDType)));
  const slots = part < length ? 2 : 1;
  const blocks = { ...shape, inputLength: part, outputLength: part, slots, isInPlace: dtype === resultDType };
  return { protocol: 'blocks', shape: blocks, inputBytes, outputBytes };
}

import { operationOf } from '../collectives/caller-request.js';
import { type Collective, inputBlocks, outputBlocks, outputDType, reads, writes } from '../collectives/collective.js';
import { blockCount, hasBlocks } from '../schedule/goal.js';
import { byteSize, type DType } from '../values/dtype.js';
import { hashOf } from '../values/layout.js';
import type { Arena } from './arena.js';
import { type Asked, askedBy, type Descriptor, nowhere } from './descriptors.js';
import { JoinedPieces } from './joined-pieces.js';
import type { PieceCuts, PiecePlaces } from './piece-table.js';
import type { CheckedCall, Pieces } from './pieces.js';
import type { Plan, Plans } from './plans.js';
import { bytesOfStaging, inputSlot, outputSlot, StagingBuffer, type StagingShape } from './staging-buffer.js';

/**
 * How memory gets to the others. *small*: every rank copies its input, works off all of them by itself, and goes its way after
 * one meeting: who has met the others once more may write over its copy, of which there are two by turns. *blocks*: from
 * shared memory at once, from private memory block by block over a stage. *whole*: private memory as one block, because inputs or outputs are
 * blocks of a whole buffer themselves.
 */
export type Way = 'small' | 'blocks' | 'whole';

/** A call of one rank that was checked once: handed in again, on the same memory, it needs no second look. */
export interface Offer {
  readonly operation: string;
  /** What messages call the ranks. Default: their numbers. */
  readonly ranks: readonly string[] | undefined;
  readonly plan: Plan;
  /** Of the whole buffer. */
  readonly length: number;
  readonly isShared: boolean;
  readonly cuts: PieceCuts;
  /** Bytes of the input and the output of ranks that have them. */
  readonly inputBytes: number;
  readonly outputBytes: number;
  readonly way: Way;
  /** Of a stage that any rank has. */
  readonly shape: StagingShape;
  /** By turn; the same one twice where a turn makes no difference. */
  readonly parts: readonly [Part, Part];
  /** Allocates a staging buffer for this rank although its own memory is shared, because another rank of the call needs one. */
  makeStagingBuffer(): StagingBuffer;
}

/** What a rank brings to a turn, and what it has to do once it knows what the others bring. */
export interface Part {
  /** No other part of this rank in the group has it. */
  readonly number: number;
  descriptor: Descriptor;
  /** Where the pieces are of a buffer in several, of which the descriptor has the first. */
  readonly pieces: PiecePlaces | undefined;
  stage: StagingBuffer | undefined;
  /** The numbers of the parts of all ranks, for which the share was made. */
  readonly seen: Int32Array;
  /** Whether memory goes over stages, and whether some ranks have to learn that first. */
  isStaged: boolean;
  isMixed: boolean;
  share: Share | undefined;
}

/** What one rank does of a collective, between meetings. */
export interface Share {
  /** Parts of the buffer, one after the other, that are loaded, folded and stored by themselves. */
  readonly blocks: number;
  /** Works off a block, or goes on with it, and may stop at that time of `performance.now()`: whether it is done. */
  play(block: number, until: number): boolean;
}

/** Up to here a copy costs less than a second meeting. */
const smallBytes = 512;

/** Two of these from each of some ranks stay in the second-level caches. */
const blockBytes = 1 << 18;

export interface OffersOptions {
  readonly rank: number;
  readonly size: number;
  readonly arena: Arena;
  readonly plans: Plans;
  readonly nextNumber: () => number;
}

/** Makes the offers of one rank. */
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
    const memory = this.#memoryOf(call, form.way);
    const part = (turn: number): Part => this.#part(asked, form, memory, turn);
    const first = part(0);
    return {
      ...form,
      operation: operationOf(call),
      ranks: request?.ranks,
      plan,
      length,
      isShared,
      cuts: { begins, inputSize: byteSize(dtype), outputSize: byteSize(outputDType(collective, dtype)) },
      parts: [first, form.way === 'small' ? part(1) : first],
      makeStagingBuffer: () => this.#stage('stage', form.shape, memory.input, memory.output),
    };
  }

  #memoryOf({ collective, inputs: [input = []], outputs: [output = []] }: CheckedCall, way: Way): Memory {
    const { rank } = this.#options;
    const [isRead, isWritten] = [reads(collective, rank), writes(collective, rank)];
    // What is small is copied as a whole.
    const isSingle = input.length === 1;
    const [inputs, outputs] = [
      isRead && (isSingle || way === 'blocks') ? this.#placesOf(input) : input.map(() => nowhere),
      isWritten && (isSingle || way === 'blocks') ? this.#placesOf(output) : output.map(() => nowhere),
    ];
    return {
      input: isRead ? new JoinedPieces(input) : undefined,
      output: isWritten ? new JoinedPieces(output) : undefined,
      inputAt: inputs[0] as number,
      outputAt: outputs[0] as number,
      pieces: isSingle ? undefined : { inputs, outputs },
    };
  }

  /** Where in the arena the pieces of a buffer are: all of them, or none. */
  #placesOf(pieces: Pieces): readonly number[] {
    const isPlaced = pieces.every(({ data }) => this.#options.arena.holds(data));
    return pieces.map(({ data }) => (isPlaced ? data.byteOffset : nowhere));
  }

  #part(asked: Asked, { way, shape }: Form, { input, output, inputAt, outputAt, pieces }: Memory, turn: number): Part {
    const { size, nextNumber } = this.#options;
    const privateInput = inputAt === nowhere ? input : undefined;
    const privateOutput = outputAt === nowhere ? output : undefined;
    let stage: StagingBuffer | undefined;
    let places = { inputAt, outputAt };
    if (way === 'small') stage = this.#stage(`small ${turn}`, shape, input, privateOutput);
    else if (way === 'blocks' && (privateInput || privateOutput)) stage = this.#stage('stage', shape, input, output);
    else if (privateInput || privateOutput) stage = this.#stage('stage', shape, privateInput, privateOutput);
    const workAt = stage?.at ?? nowhere;
    if (way !== 'blocks') {
      places = {
        inputAt: privateInput && way === 'whole' ? workAt + inputSlot(shape, 0) : inputAt,
        outputAt: privateOutput ? workAt + outputSlot(shape, 0) : outputAt,
      };
    }
    return {
      number: nextNumber(),
      descriptor: { ...asked, ...places, workAt },
      pieces,
      stage,
      seen: new Int32Array(size),
      isStaged: false,
      isMixed: false,
      share: undefined,
    };
  }

  #stage(purpose: string, shape: StagingShape, input?: JoinedPieces, output?: JoinedPieces): StagingBuffer {
    const { arena } = this.#options;
    const at = this.#reserve(purpose, bytesOfStaging(shape));
    return new StagingBuffer({ bytes: arena.bytes, at }, shape, input, output);
  }

  #reserve(purpose: string, bytes: number): number {
    const kept = this.#places.get(purpose);
    if (kept && kept.bytes >= bytes) return kept.at;
    // Doubling bounds what outgrown places waste: the arena does not take memory back.
    const wanted = Math.max(bytes, 2 * (kept?.bytes ?? 0), smallBytes);
    const made = { at: this.#options.arena.reserve(wanted), bytes: wanted };
    this.#places.set(purpose, made);
    return made.at;
  }
}

/** What a rank reads and writes, and where that is in the arena. */
interface Memory {
  readonly input: JoinedPieces | undefined;
  readonly output: JoinedPieces | undefined;
  readonly inputAt: number;
  readonly outputAt: number;
  readonly pieces: PiecePlaces | undefined;
}

/** What is the same for all ranks that agree. */
type Form = Pick<Offer, 'way' | 'shape' | 'inputBytes' | 'outputBytes'>;

function formOf(collective: Collective, dtype: DType, length: number, size: number): Form {
  const resultDType = outputDType(collective, dtype);
  const block = length / blockCount(collective.kind, size);
  const [inputLength, outputLength] = [block * inputBlocks(collective, size), block * outputBlocks(collective, size)];
  const [inputBytes, outputBytes] = [inputLength * byteSize(dtype), outputLength * byteSize(resultDType)];
  const shape = { dtype, resultDType, inputLength, outputLength, slots: 1, isInPlace: false };
  if (Math.max(inputBytes, outputBytes) <= smallBytes) return { way: 'small', shape, inputBytes, outputBytes };
  if (hasBlocks(collective.kind)) return { way: 'whole', shape, inputBytes, outputBytes };
  const part = Math.min(length, blockBytes / Math.max(byteSize(dtype), byteSize(resultDType)));
  const slots = part < length ? 2 : 1;
  const blocks = { ...shape, inputLength: part, outputLength: part, slots, isInPlace: dtype === resultDType };
  return { way: 'blocks', shape: blocks, inputBytes, outputBytes };
}

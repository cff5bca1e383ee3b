import { refusedCollective } from '../buffers.js';
import { type Collective, nameOf, outputDType } from '../collective.js';
import type { RunOptions } from '../communicator.js';
import { byteSize, type DType, type TypedArray, viewOf } from '../dtype.js';
import { ValueError } from '../errors.js';
import type { Fold } from '../kernels/fold.js';
import { hashOf } from '../layout.js';
import { copyElements, type Tensor } from '../tensor.js';
import type { Arena } from './arena.js';
import { type Descriptor, nowhere } from './descriptors.js';
import { KnownCalls } from './known-calls.js';
import { type Buffers, beginsOf, type Pieces, reads, sourceOf, validatePieces, writes } from './pieces.js';
import type { Plan, Plans } from './plans.js';

/** A call of one rank that was checked once: handed in again, on the same memory, it needs no second look. */
export interface Offer {
  readonly operation: string;
  readonly plan: Plan;
  readonly isShared: boolean;
  /** Bytes of this rank's input and output, as all ranks have them. */
  readonly inputBytes: number;
  readonly outputBytes: number;
  /**
   * Whether each rank works off everything by itself, from copies of all inputs, so that one meeting is enough. Who has met the others a
   * second time may write over a copy, because all have done with the first turn by then: two copies by turns.
   */
  readonly isSmall: boolean;
  /** By turn; the same one twice where a turn makes no difference. */
  readonly parts: readonly [Part, Part];
}

/** What a rank brings to a turn, and what it has to do once it knows what the others bring. */
export interface Part {
  /** No other part of this rank in the group has it. */
  readonly number: number;
  readonly descriptor: Descriptor;
  /** Before the others look. */
  readonly loads: readonly Copy[];
  /** When all is done. */
  readonly stores: readonly Copy[];
  /** The numbers of the parts of all ranks, with which the folds were made. */
  readonly seen: Int32Array;
  folds: readonly SizedFold[];
}

export interface SizedFold {
  readonly count: number;
  readonly fold: Fold;
}

interface Copy {
  readonly into: TypedArray;
  readonly from: TypedArray;
}

/** Up to here a copy costs less than a second meeting. */
const smallBytes = 512;

export interface OffersOptions {
  readonly rank: number;
  readonly size: number;
  readonly arena: Arena;
  readonly plans: Plans;
  readonly nextNumber: () => number;
}

/** Makes the offers of one rank, each once. */
export class Offers {
  readonly #options: OffersOptions;
  readonly #calls = new KnownCalls<Offer>();
  readonly #staging = new Map<string, { at: number; bytes: number }>();

  constructor(options: OffersOptions) {
    this.#options = options;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    const { plans, size } = this.#options;
    return refusedCollective(collective, dtype, size) ?? plans.refuses(collective);
  }

  /** @throws ValueError for buffers that do not fit, or a collective that cannot be had */
  of(collective: Collective, inputs: Pieces, outputs: Pieces, options: RunOptions): Offer {
    const known = this.#calls.find(collective, inputs, outputs, options);
    return (known ?? this.#add(collective, inputs.map(alone), outputs.map(alone), options)).handle;
  }

  /** The same for buffers in pieces. */
  ofPieces(collective: Collective, inputs: readonly Pieces[], outputs: readonly Pieces[], options: RunOptions): Offer {
    const known = this.#calls.findPieces(collective, inputs, outputs, options);
    return (known ?? this.#add(collective, inputs, outputs, options)).handle;
  }

  #add(collective: Collective, inputs: readonly Pieces[], outputs: readonly Pieces[], options: RunOptions) {
    const { rank, size, arena } = this.#options;
    // A grown arena shows itself in several buffers: checks of overlaps need one.
    const present = (lists: readonly Pieces[]) => lists.map((pieces) => pieces.map((piece) => arena.present(piece)));
    const isShared = options.sharedResult ?? false;
    const localRanks = [rank];
    const buffers = { collective, size, localRanks, isShared, inputs: present(inputs), outputs: present(outputs) };
    validatePieces(buffers);
    const { dtype } = sourceOf(collective, localRanks, inputs, outputs)[0] as Tensor;
    const operation = nameOf(collective);
    const refused = this.refuses(collective, dtype);
    if (refused) throw new ValueError('ERR_COLL_REFUSED', `${operation}: ${refused}`, { operation, rank });
    return this.#calls.add(collective, inputs, outputs, options, this.#make(buffers, dtype, options));
  }

  #make(buffers: Buffers, dtype: DType, { layout = 0 }: RunOptions): Offer {
    const { collective, isShared } = buffers;
    const { size, plans } = this.#options;
    const plan = plans.find(collective, dtype);
    const begins = beginsOf(buffers);
    const length = begins.at(-1) as number;
    const asked = {
      collective,
      dtype,
      length,
      schedule: isShared ? hashOf([plan.number, 1]) : plan.number,
      // Where a buffer is in pieces, ranks must cut it alike.
      layout: begins.length === 2 ? layout : hashOf([layout, ...begins]),
    };
    const inputBytes = (length * byteSize(dtype)) / (collective.kind === 'all-gather' ? size : 1);
    const resultBytes = length * byteSize(outputDType(collective, dtype));
    const outputBytes = resultBytes / (collective.kind === 'reduce-scatter' ? size : 1);
    const isSmall = Math.max(inputBytes, outputBytes) <= smallBytes;
    const sizes = { inputBytes, outputBytes };
    const part = (turn: number) => this.#part(buffers, asked, isSmall ? turn : undefined, sizes);
    const first = part(0);
    return {
      ...sizes,
      operation: nameOf(collective),
      plan,
      isShared,
      isSmall,
      parts: [first, isSmall ? part(1) : first],
    };
  }

  /** Places for input and output: their own in the arena, or staged ones; for a small one a copy of the turn in any case. */
  #part(
    { collective, inputs: [input = []], outputs: [output = []] }: Buffers,
    asked: Pick<Descriptor, 'collective' | 'dtype' | 'length' | 'schedule' | 'layout'>,
    turn: number | undefined,
    { inputBytes, outputBytes }: Pick<Offer, 'inputBytes' | 'outputBytes'>,
  ): Part {
    const { rank, size, arena, nextNumber } = this.#options;
    const [isRead, isWritten] = [reads(collective, rank), writes(collective, rank)];
    const [inputPlace, outputPlace] = [
      isRead ? this.#placeOf(input) : nowhere,
      isWritten ? this.#placeOf(output) : nowhere,
    ];
    let [inputAt, outputAt, workAt] = [inputPlace, outputPlace, nowhere];
    if (turn !== undefined) {
      if (isRead) workAt = this.#stage(`small input ${turn}`, smallBytes);
    } else if (isRead && inputPlace === nowhere) {
      inputAt = this.#stage('input', inputBytes);
    }
    if (isWritten && outputPlace === nowhere) {
      // Private memory that goes in and comes out in the same form needs one staged copy, not two.
      const isSame = turn === undefined && isRead && inputPlace === nowhere && inputBytes === outputBytes;
      outputAt = isSame ? inputAt : this.#stage('output', outputBytes);
    }
    const loadAt = workAt === nowhere ? inputAt : workAt;
    const isLoaded = isRead && (inputPlace === nowhere || workAt !== nowhere);
    const copies = (at: number, pieces: Pieces) => copiesOf(arena, at, pieces);
    return {
      number: nextNumber(),
      descriptor: { ...asked, inputAt, outputAt, workAt },
      loads: isLoaded ? copies(loadAt, input) : [],
      stores: isWritten && outputPlace === nowhere ? copies(outputAt, output).map(reversed) : [],
      seen: new Int32Array(size),
      folds: [],
    };
  }

  /** Where in the arena a buffer is as a whole. */
  #placeOf(pieces: Pieces): number {
    const [first] = pieces as readonly [Tensor];
    return pieces.length === 1 && this.#options.arena.holds(first.data) ? first.data.byteOffset : nowhere;
  }

  #stage(purpose: string, bytes: number): number {
    const kept = this.#staging.get(purpose);
    if (kept && kept.bytes >= bytes) return kept.at;
    // Doubling bounds what outgrown places waste: the arena does not take memory back.
    const wanted = Math.max(bytes, 2 * (kept?.bytes ?? 0), smallBytes);
    const made = { at: this.#options.arena.reserve(wanted), bytes: wanted };
    this.#staging.set(purpose, made);
    return made.at;
  }
}

/** Copies into the arena, one piece behind the other. */
function copiesOf(arena: Arena, begin: number, pieces: Pieces): Copy[] {
  let at = begin;
  return pieces.map(({ data, dtype }) => {
    const into = viewOf(dtype, arena.bytes, at, data.length);
    at += data.byteLength;
    return { into, from: data };
  });
}

function reversed({ into, from }: Copy): Copy {
  return { into: from, from: into };
}

export function copyAll(copies: readonly Copy[]): void {
  for (const { into, from } of copies) copyElements(into, from);
}

function alone<T>(tensor: T): readonly [T] {
  return [tensor];
}

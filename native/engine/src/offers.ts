import { type Collective, type DType, nameOf, type RunOptions, ValueError } from '@coll/core';
import {
  beginsOf,
  bytesOfDescriptors,
  type Descriptor,
  Descriptors,
  hashOf,
  type KnownCall,
  KnownCalls,
  nowhere,
  type Pieces,
  reads,
  sourceOf,
  validatePieces,
  writes,
} from '@coll/core/executor';
import type { NativeBinding, OfferHandle } from './native-binding.js';
import type { Programs } from './programs.js';
import { NewCalls } from './turns.js';

/** What a rank hands over to native code for a call, and says about it to the others. */
export interface Offer {
  readonly handle: OfferHandle;
  readonly descriptor: Descriptor;
}

/** Makes the offers of one rank, each once. */
export class Offers {
  readonly newCalls = new NewCalls();
  readonly #binding: NativeBinding;
  readonly #programs: Programs;
  readonly #rank: number;
  readonly #size: number;
  readonly #calls = new KnownCalls<Offer>();
  readonly #draft = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(1)), 1);

  constructor(binding: NativeBinding, programs: Programs, rank: number, size: number) {
    this.#binding = binding;
    this.#programs = programs;
    this.#rank = rank;
    this.#size = size;
  }

  /** @throws ValueError for buffers that do not fit */
  of(collective: Collective, inputs: Pieces, outputs: Pieces, options: RunOptions): KnownCall<Offer> {
    const known = this.#calls.find(collective, inputs, outputs, options);
    return known ?? this.#make(collective, inputs.map(alone), outputs.map(alone), options);
  }

  /** The same for buffers in pieces. */
  ofPieces(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options: RunOptions,
  ): KnownCall<Offer> {
    const known = this.#calls.findPieces(collective, inputs, outputs, options);
    return known ?? this.#make(collective, inputs, outputs, options);
  }

  #make(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options: RunOptions,
  ): KnownCall<Offer> {
    const localRanks = [this.#rank];
    const isShared = options.sharedResult ?? false;
    const buffers = { collective, size: this.#size, localRanks, isShared, inputs, outputs };
    validatePieces(buffers);
    const { dtype } = sourceOf(collective, localRanks, inputs, outputs)[0] as Pieces[number];
    const refused = this.#refuses(collective, dtype);
    if (refused) throw refused;
    const program = this.#programs.find(collective, dtype);
    const begins = beginsOf(buffers);
    const descriptor: Descriptor = {
      collective,
      dtype,
      length: begins.at(-1) as number,
      schedule: program.number,
      // Where a buffer is in pieces, ranks must cut it alike.
      layout: begins.length === 2 ? (options.layout ?? 0) : hashOf([options.layout ?? 0, ...begins]),
      inputAt: nowhere,
      outputAt: nowhere,
      workAt: nowhere,
    };
    this.newCalls.add();
    this.#draft.write(0, descriptor);
    const handle = this.#binding.offer(
      program.handle,
      this.#rank,
      begins,
      arraysOf(inputs, reads(collective, this.#rank)),
      arraysOf(outputs, writes(collective, this.#rank)),
      isShared,
      this.#draft.agreedBy(0),
    );
    return this.#calls.add(collective, inputs, outputs, options, { handle, descriptor });
  }

  #refuses(collective: Collective, dtype: DType): ValueError | undefined {
    const refused = this.#programs.refuses(collective, dtype);
    const operation = nameOf(collective);
    return refused === undefined
      ? undefined
      : new ValueError('ERR_COLL_REFUSED', `${operation}: ${refused}`, { operation, rank: this.#rank });
  }
}

function alone<T>(tensor: T): readonly [T] {
  return [tensor];
}

function arraysOf(lists: readonly Pieces[], isUsed: boolean) {
  return isUsed ? (lists[0] as Pieces).map(({ data }) => data) : [];
}

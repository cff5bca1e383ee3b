import { askedBy, bytesOfDescriptors, Descriptors, nowhere } from '@coll/core/internal';
import { type CheckedCall, reads, type SegmentList, writes } from '@coll/core/plugin';
import type { OfferHandle } from './handles.js';
import type { NativeBinding } from './native-binding.js';
import type { Programs } from './programs.js';

/**
 * A rank's request for one collective: `handle` is passed to native code, `said` is announced to
 * the other ranks.
 */
export interface Offer {
  readonly handle: OfferHandle;
  readonly said: Float64Array;
}

/** Converts the calls of one rank to requests for native code. */
export class Offers {
  readonly #binding: NativeBinding;
  readonly #programs: Programs;
  readonly #rank: number;
  readonly #draft = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(1)), 1);
  readonly #negotiated = this.#draft.negotiatedBy(0);
  readonly #announced = this.#draft.announcedBy(0);

  constructor(binding: NativeBinding, programs: Programs, rank: number) {
    this.#binding = binding;
    this.#programs = programs;
    this.#rank = rank;
  }

  /** Converts a call to a native request. Reuses the memory of the request `spare` if it is given. */
  make(call: CheckedCall, spare?: Offer): Offer {
    const { collective, dtype, begins, isShared, inputs, outputs } = call;
    const program = this.#programs.find(collective, dtype);
    const places = { inputAt: nowhere, outputAt: nowhere, workAt: nowhere };
    this.#draft.write(0, { ...askedBy(call, program.number), ...places });
    const offering = [
      program.handle,
      this.#rank,
      begins,
      arraysOf(inputs, reads(collective, this.#rank)),
      arraysOf(outputs, writes(collective, this.#rank)),
      isShared,
      this.#negotiated,
    ] as const;
    if (!spare) return { handle: this.#binding.offer(...offering), said: this.#announced.slice() };
    const { handle, said } = spare;
    this.#binding.refillOffer(handle, ...offering);
    said.set(this.#announced);
    return { handle, said };
  }
}

function arraysOf(lists: readonly SegmentList[], isUsed: boolean) {
  return isUsed ? (lists[0] as SegmentList).map(({ data }) => data) : [];
}

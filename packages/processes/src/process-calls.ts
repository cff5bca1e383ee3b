import {
  askedBy,
  bytesOfDescriptors,
  type CallTimes,
  type Descriptor,
  Descriptors,
  nowhere,
} from '@coll/core/internal';
import { type CheckedCall, clashError, operationOf, reads, type SegmentList, writes } from '@coll/core/plugin';
import type { Programs } from '@coll/native/addon';
import type { CallHandle, MessagesHandle, ProcessBinding } from './process-binding.js';

/** A call as one rank passes it to native code. */
export interface ProcessCall {
  readonly handle: CallHandle;
  /**
   * Whether the program was busy with other work the last time this call took more than a slice.
   */
  wasLate?: boolean;
  /** Times of the executions that took more than a slice, if the call is kept for repetitions. */
  times?: CallTimes;
}

/** The rank that makes the calls, and what they execute. */
export interface ProcessCallsOptions {
  readonly binding: ProcessBinding;
  readonly programs: Programs<MessagesHandle | undefined>;
  readonly rank: number;
}

/** Creates the native calls of one rank. */
export class ProcessCalls {
  readonly #options: ProcessCallsOptions;
  readonly #draft = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(1)), 1);
  readonly #negotiated = this.#draft.negotiatedBy(0);
  readonly #announced = this.#draft.announcedBy(0);

  constructor(options: ProcessCallsOptions) {
    this.#options = options;
  }

  /**
   * Makes the native request of a call. Reuses the handle `spare` if it is given.
   * @throws ValueError if an output overlaps another input or output
   */
  make(call: CheckedCall, spare?: CallHandle): ProcessCall {
    const { collective, dtype, begins, inputs, outputs } = call;
    const { binding, programs, rank } = this.#options;
    const program = programs.find(collective, dtype);
    const places = { inputAt: nowhere, outputAt: nowhere, workAt: nowhere };
    const descriptor: Descriptor = { ...askedBy(call, program.number), ...places };
    this.#draft.write(0, descriptor);
    const calling = [
      program.handle,
      rank,
      begins,
      arraysOf(inputs, reads(collective, rank)),
      arraysOf(outputs, writes(collective, rank)),
      // Outputs are never shared by all ranks.
      false,
      this.#negotiated,
      this.#announced,
      program.messages,
    ] as const;
    const handle = spare ? binding.refillCall(spare, ...calling) && spare : binding.call(...calling);
    if (!handle) throw clashError(operationOf(call), rank, rank);
    return { handle };
  }
}

function arraysOf(lists: readonly SegmentList[], isUsed: boolean) {
  return isUsed ? (lists[0] as SegmentList).map(({ data }) => data) : [];
}

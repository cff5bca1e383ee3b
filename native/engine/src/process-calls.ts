import { type Collective, type DType, nameOf } from '@coll/core';
import {
  bytesOfDescriptors,
  type CheckedCall,
  clashError,
  type Descriptor,
  Descriptors,
  nowhere,
  type Pieces,
  reads,
  writes,
} from '@coll/core/executor';
import { messageWords } from './message-programs.js';
import type { CallHandle, MessagesHandle, ProcessBinding } from './process-binding.js';
import { stateWords } from './process-failures.js';
import type { Program, Programs } from './programs.js';

/** What a rank among processes hands over to native code for a call. */
export interface ProcessCall {
  readonly handle: CallHandle;
  /** Of the larger one of input and output. */
  readonly bytes: number;
}

/** Whose calls they are, and whether they are played by messages. */
export interface ProcessCallsOptions {
  readonly binding: ProcessBinding;
  readonly programs: Programs;
  readonly rank: number;
  readonly byMessages: boolean;
}

/** Makes the calls of one rank. */
export class ProcessCalls {
  readonly #options: ProcessCallsOptions;
  readonly #messages = new WeakMap<Program, MessagesHandle>();
  readonly #memory = new SharedArrayBuffer(bytesOfDescriptors(1));
  readonly #draft = new Descriptors(this.#memory, 1);

  constructor(options: ProcessCallsOptions) {
    this.#options = options;
  }

  /** @throws ValueError where memory of a piece was given twice */
  make({ collective, dtype, length, begins, layout, inputs, outputs }: CheckedCall): ProcessCall {
    const { binding, programs, rank } = this.#options;
    const program = programs.find(collective, dtype);
    const places = { inputAt: nowhere, outputAt: nowhere, workAt: nowhere };
    const descriptor: Descriptor = { collective, dtype, length, schedule: program.number, layout, ...places };
    this.#draft.write(0, descriptor);
    const [input, output] = [arraysOf(inputs, reads(collective, rank)), arraysOf(outputs, writes(collective, rank))];
    const handle = binding.call(
      program.handle,
      rank,
      begins,
      input,
      output,
      // No memory is everybody's output.
      false,
      this.#draft.agreedBy(0),
      new Float64Array(this.#memory, 0, stateWords),
      this.#messagesOf(program, collective, dtype),
    );
    if (!handle) throw clashError(nameOf(collective), rank, rank);
    return { handle, bytes: Math.max(bytesOf(input), bytesOf(output)) };
  }

  #messagesOf(program: Program, collective: Collective, dtype: DType): MessagesHandle | undefined {
    const { binding, rank, byMessages } = this.#options;
    if (!byMessages) return undefined;
    const known = this.#messages.get(program);
    if (known) return known;
    const made = binding.messageProgram(messageWords(program.schedule, collective, dtype), rank);
    this.#messages.set(program, made);
    return made;
  }
}

function arraysOf(lists: readonly Pieces[], isUsed: boolean) {
  return isUsed ? (lists[0] as Pieces).map(({ data }) => data) : [];
}

function bytesOf(arrays: readonly { readonly byteLength: number }[]): number {
  return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

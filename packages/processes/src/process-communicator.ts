import { constants } from 'node:buffer';
import {
  type Algorithm,
  byteSize,
  CollError,
  type Collective,
  type DType,
  isDType,
  quote,
  type RunOptions,
  type Tensor,
  ValueError,
  viewOf,
} from '@coll/core';
import {
  type CheckedCall,
  closedError,
  type KnownCall,
  nextTurn,
  OrderedCommunicator,
  oneRank,
} from '@coll/core/executor';
import type { NativeBinding } from '@coll/native/addon';
import { NewCalls, Programs } from '@coll/native/addon';
import type { MemoryHandle, ProcessBinding } from './process-binding.js';
import { type ProcessCall, ProcessCalls } from './process-calls.js';
import type { NativeProcessGroup } from './process-group.js';

type Call = KnownCall<ProcessCall>;

/** What plays where, for a communicator among processes. */
export interface ProcessCommunicatorOptions {
  readonly binding: NativeBinding & { readonly processes: ProcessBinding };
  readonly group: NativeProcessGroup;
  readonly algorithm: Algorithm;
  /** Memory that all members see; where there is none, they send each other messages. */
  readonly memory: MemoryHandle | undefined;
}

/** One rank among processes. Communicators of one group share its order of calls; closing one leaves the group open. */
export class ProcessCommunicator extends OrderedCommunicator<ProcessCall> {
  /** Memory that the others see; absent where there is none. */
  readonly allocate?: (dtype: DType, length: number) => Tensor;
  readonly #group: NativeProcessGroup;
  readonly #programs: Programs;
  readonly #calls: ProcessCalls;
  readonly #newCalls = new NewCalls();

  constructor({ binding, group, algorithm, memory }: ProcessCommunicatorOptions) {
    super(group.size, oneRank(group.rank, group.size));
    this.#group = group;
    this.#programs = new Programs(binding, algorithm, group.size);
    this.#calls = new ProcessCalls({
      binding: binding.processes,
      programs: this.#programs,
      rank: group.rank,
      byMessages: memory === undefined,
    });
    if (memory) {
      this.allocate = (dtype, length) => {
        if (group.isClosed) throw closedError({ operation: 'allocate', rank: group.rank });
        return allocated(binding.processes, memory, dtype, length);
      };
    }
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#programs.refuses(collective, dtype);
  }

  /** Ends the group for all members because of an error beyond it. */
  fail(error: CollError): void {
    this.#group.failWith(error);
  }

  /** Why the group has failed; undefined while it has not. */
  failure(): CollError | undefined {
    return this.#group.failure();
  }

  protected prepare(call: CheckedCall): ProcessCall {
    this.#newCalls.add();
    return this.#calls.make(call);
  }

  protected playSync(call: Call, options: RunOptions): void {
    this.#group.playSync(call, options);
  }

  protected override play(call: Call, options: RunOptions): Promise<void> | undefined {
    const playing = this.#group.play(call, options);
    return playing ?? (this.#newCalls.isTurnDue() ? nextTurn() : undefined);
  }

  // All communicators of a group have one order of calls, which is that in which they were made.
  protected override async queue(_before: Promise<unknown>, call: Call, options: RunOptions): Promise<void> {
    await this.#group.play(call, options);
  }
}

function allocated(binding: ProcessBinding, memory: MemoryHandle, dtype: DType, length: number): Tensor {
  if (!isDType(dtype) || !(Number.isSafeInteger(length) && length >= 0)) {
    const told = `${quote(length)} elements of ${quote(dtype)}`;
    throw new ValueError('ERR_COLL_VALUE', `allocate takes a dtype and a whole number of elements, not ${told}`);
  }
  const bytes = length * byteSize(dtype);
  // Node's own bound, which it does not get over.
  if (bytes > constants.MAX_LENGTH) {
    const told = `a tensor of ${bytes} bytes is longer than ${constants.MAX_LENGTH}, the most that Node has in one buffer`;
    throw new CollError('ERR_COLL_BUFFER', `${told}; cut it into several`);
  }
  try {
    // Memory of no bytes has no place.
    const buffer = bytes === 0 ? new ArrayBuffer(0) : binding.allocate(memory, bytes);
    return { data: viewOf(dtype, buffer, 0, length), dtype, shape: [length], device: '' };
  } catch (cause) {
    const told = `there is no room for ${bytes} more bytes of shared memory: ${(cause as Error).message}`;
    throw new CollError('ERR_COLL_BUFFER', `${told}; open the group with a larger maxBytes, or keep fewer tensors`, {
      cause,
    });
  }
}

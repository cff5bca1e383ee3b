import type { Algorithm, Collective, DType, Group, RunOptions } from '@coll/core';
import { oneRank, recordedCommunicator } from '@coll/core/internal';
import { type CheckedCall, OrderedCommunicator, type PreparedCall } from '@coll/core/plugin';
import { noMessages, Programs, SpareHandles } from '@coll/native/addon';
import { prepareMessages } from './message-programs.js';
import type { CallHandle, MessagesHandle } from './process-binding.js';
import { type ProcessCall, ProcessCalls } from './process-calls.js';
import type { NativeProcessGroup } from './process-group.js';
import type { ProcessRank } from './process-rank.js';

type Call = PreparedCall<ProcessCall>;

/** One rank of a group of processes. Closing it leaves the group open. */
export class ProcessCommunicator extends OrderedCommunicator<ProcessCall> {
  readonly group: Group;
  readonly #group: NativeProcessGroup;
  readonly #programs: Programs<MessagesHandle | undefined>;
  readonly #calls: ProcessCalls;
  readonly #spares = new SpareHandles<CallHandle>();

  constructor(rank: ProcessRank, algorithm: Algorithm) {
    const { binding, group, memory } = rank;
    super(group.size, oneRank(group.rank, group.size));
    this.group = rank;
    this.#group = group;
    const messages = memory ? noMessages : prepareMessages(binding.processes, group.rank);
    this.#programs = new Programs<MessagesHandle | undefined>(binding, algorithm, group.size, messages);
    this.recorded = recordedCommunicator(rank, algorithm.name, 'engine');
    this.#calls = new ProcessCalls({
      binding: binding.processes,
      programs: this.#programs,
      rank: group.rank,
    });
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#programs.refuses(collective, dtype);
  }

  protected prepare(call: CheckedCall, isKept: boolean): ProcessCall {
    return this.#calls.make(call, isKept ? undefined : this.#spares.take());
  }

  protected override recycle({ handle }: ProcessCall): void {
    this.#spares.add(handle);
  }

  protected executeSync(call: Call, options: RunOptions): void {
    this.#group.executeSync(call, options);
  }

  protected override execute(call: Call, options: RunOptions): Promise<void> | undefined {
    return this.#group.execute(call, options);
  }

  // All communicators of a group share one call order.
  protected override async queue(_before: Promise<unknown>, call: Call, options: RunOptions): Promise<void> {
    await this.#group.execute(call, options);
  }
}

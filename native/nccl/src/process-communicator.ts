import type { Collective, Communicator, DType, Group, RunOptions, Tensor } from '@coll/core';
import { JoiningCommunicator } from '@coll/core/plugin';
import { refusedByNccl } from './element-types.js';
import type { ProcessGpus } from './process-gpus.js';

/**
 * The ranks of one process in a group of several processes. Another communicator of these processes
 * executes the calls that NCCL does not support: calls with other dtypes and blocking calls.
 */
export class ProcessCommunicator extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #others: Communicator;
  readonly #gpus: ProcessGpus;

  /** Takes ownership: closing this communicator closes `others` and `gpus`. */
  constructor(others: Communicator, gpus: ProcessGpus) {
    super();
    this.size = others.size;
    this.localRanks = others.localRanks;
    this.group = others.group;
    this.#others = others;
    this.#gpus = gpus;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#others.refuses(collective, dtype);
  }

  protected async runWhole(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): Promise<void> {
    const { dtype } = (inputs[0] ?? outputs[0]) as Tensor;
    if (!refusedByNccl(collective, dtype)) return this.#gpus.runTogether([{ collective, inputs, outputs }], options);
    // Opening NCCL uses a collective of the same group, so its order must be the same on all ranks.
    await this.#gpus.settled();
    return this.#others.run(collective, inputs, outputs, options);
  }

  protected runWholeSync(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options?: RunOptions,
  ): void {
    this.#others.runSync(collective, inputs, outputs, options);
  }

  async close(): Promise<void> {
    await this.#gpus.close();
    await this.#others.close();
  }
}

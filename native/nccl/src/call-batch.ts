import type { Collective } from '@coll/core';
import { inputBlocks, outputBlocks } from '@coll/core/internal';
import { opOf, reads, rootOf, writes } from '@coll/core/plugin';
import type { DeviceBuffer } from './device-buffer.js';
import { carrierOf, opNumbers } from './element-types.js';
import { type BufferHandle, ncclKind } from './nccl-binding.js';

const kinds: Readonly<Record<Collective['kind'], number>> = {
  'all-reduce': ncclKind.allReduce,
  reduce: ncclKind.reduce,
  broadcast: ncclKind.broadcast,
  'all-gather': ncclKind.allGather,
  'reduce-scatter': ncclKind.reduceScatter,
  gather: ncclKind.gather,
  scatter: ncclKind.scatter,
  'all-to-all': ncclKind.allToAll,
};

/** Collectives that NCCL executes as one group call, in the format of the addon. */
export class CallBatch {
  readonly calls: number[] = [];
  readonly inputs: (BufferHandle | undefined)[] = [];
  readonly inputOffsets: number[] = [];
  readonly outputs: (BufferHandle | undefined)[] = [];
  readonly outputOffsets: number[] = [];

  /**
   * Adds a collective, with an input and an output buffer per local rank; buffers that a rank does
   * not use are ignored. A mean is added as a sum.
   */
  add(
    collective: Collective,
    { ranks, size }: { readonly ranks: readonly number[]; readonly size: number },
    inputs: readonly (DeviceBuffer | undefined)[],
    outputs: readonly (DeviceBuffer | undefined)[],
  ): void {
    const sample = [...inputs, ...outputs].find((buffer) => buffer !== undefined) as DeviceBuffer;
    const { dtype, perElement } = carrierOf(sample.dtype);
    const op = opOf(collective);
    const read = inputs.find((_, index) => reads(collective, ranks[index]));
    const blocks = read ? inputBlocks(collective, size) : outputBlocks(collective, size);
    const count = (read ?? sample).length / blocks;
    const root = rootOf(collective) ?? 0;
    this.calls.push(kinds[collective.kind], dtype, op ? opNumbers[op] : 0, root, count * perElement);
    ranks.forEach((rank, index) => {
      const [input, output] = [inputs[index], outputs[index]];
      this.#add(this.inputs, this.inputOffsets, reads(collective, rank) ? input : undefined);
      this.#add(this.outputs, this.outputOffsets, writes(collective, rank) ? output : undefined);
    });
  }

  #add(handles: (BufferHandle | undefined)[], offsets: number[], buffer: DeviceBuffer | undefined): void {
    handles.push(buffer?.memory.handle);
    offsets.push(buffer?.byteOffset ?? 0);
  }
}

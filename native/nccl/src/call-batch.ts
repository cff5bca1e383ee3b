import { type Collective, opOf, rootOf } from '@coll/core';
import type { DeviceBuffer } from './device-buffer.js';
import { carrierOf, opNumbers } from './element-types.js';
import { type BufferHandle, ncclKind } from './nccl-binding.js';

const kinds: Readonly<Partial<Record<Collective['kind'], number>>> = {
  'all-reduce': ncclKind.allReduce,
  reduce: ncclKind.reduce,
  broadcast: ncclKind.broadcast,
  'all-gather': ncclKind.allGather,
  'reduce-scatter': ncclKind.reduceScatter,
};

/** Collectives that go to NCCL together, as one group call, in the form that the addon takes. */
export class CallBatch {
  readonly calls: number[] = [];
  readonly inputs: (BufferHandle | undefined)[] = [];
  readonly inputOffsets: number[] = [];
  readonly outputs: (BufferHandle | undefined)[] = [];
  readonly outputOffsets: number[] = [];

  /** Adds one, with a buffer in and out for each local rank; a mean is the sum. Buffers that a rank neither reads nor writes are not looked at. */
  add(
    collective: Collective,
    ranks: readonly number[],
    inputs: readonly (DeviceBuffer | undefined)[],
    outputs: readonly (DeviceBuffer | undefined)[],
  ): void {
    const sample = [...inputs, ...outputs].find((buffer) => buffer !== undefined) as DeviceBuffer;
    const { dtype, perElement } = carrierOf(sample.dtype);
    const op = opOf(collective);
    const counted = collective.kind === 'reduce-scatter' ? outputs : [...inputs, ...outputs];
    const { length } = counted.find((buffer) => buffer !== undefined) as DeviceBuffer;
    const root = rootOf(collective) ?? 0;
    this.calls.push(kinds[collective.kind] as number, dtype, op ? opNumbers[op] : 0, root, length * perElement);
    ranks.forEach((rank, index) => {
      const [input, output] = [inputs[index], outputs[index]];
      this.#add(this.inputs, this.inputOffsets, readsInput(collective, rank) ? input : undefined);
      this.#add(this.outputs, this.outputOffsets, writesOutput(collective, rank) ? output : undefined);
    });
  }

  #add(handles: (BufferHandle | undefined)[], offsets: number[], buffer: DeviceBuffer | undefined): void {
    handles.push(buffer?.memory.handle);
    offsets.push(buffer?.byteOffset ?? 0);
  }
}

/** Whether a rank's input takes part. */
export function readsInput(collective: Collective, rank: number): boolean {
  return collective.kind !== 'broadcast' || collective.root === rank;
}

/** Whether a rank gets a result. */
export function writesOutput(collective: Collective, rank: number): boolean {
  return collective.kind !== 'reduce' || collective.root === rank;
}

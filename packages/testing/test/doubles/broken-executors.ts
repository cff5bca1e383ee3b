import {
  type Collective,
  type Communicator,
  type DType,
  fromFloat16,
  type Group,
  type RunOptions,
  type Tensor,
  toFloat16,
  toNumbers,
} from '@coll/core';
import { ReferenceCommunicator, type ReferenceCommunicatorOptions } from '@coll/core/internal';
import { isHalf, opOf } from '@coll/core/plugin';

type Run = (
  collective: Collective,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  options?: RunOptions,
) => void;

/** A right executor, but for what a double overrides. */
class Double implements Communicator {
  protected readonly right: ReferenceCommunicator;
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;

  constructor(options: ReferenceCommunicatorOptions) {
    this.right = new ReferenceCommunicator(options);
    this.size = this.right.size;
    this.localRanks = this.right.localRanks;
    this.group = this.right.group;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.right.refuses(collective, dtype);
  }

  async run(...call: Parameters<Run>): Promise<void> {
    this.runSync(...call);
  }

  runSync(...call: Parameters<Run>): void {
    this.right.runSync(...call);
  }

  async close(): Promise<void> {
    await this.right.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

class RoundsTwice extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    const isRight = opOf(collective) !== 'mean' || inputs[0]?.dtype !== 'float16';
    super.runSync(isRight ? collective : ({ ...collective, op: 'sum' } as Collective), inputs, outputs, options);
    for (const { data } of isRight ? [] : outputs) {
      data.forEach((bits, at) => {
        data[at] = toFloat16(fromFloat16(bits as number) / this.size);
      });
    }
  }
}

class ChangesInputs extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs, options);
    const last = inputs.at(-1);
    if (last && last.data.buffer !== outputs.at(-1)?.data.buffer && last.data.length > 1)
      last.data[1] = last.data[0] as 0;
  }
}

class WritesTooFar extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs, options);
    const { buffer, byteOffset, byteLength } = (outputs[0] as Tensor).data;
    if (byteOffset + byteLength < buffer.byteLength) new Uint8Array(buffer)[byteOffset + byteLength] = 99;
  }
}

class ReducesEverywhere extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs, options);
    if (collective.kind !== 'reduce') return;
    for (const { data } of outputs) (data as Float32Array).set(outputs[collective.root]?.data as Float32Array);
  }
}

class LosesNaN extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs, options);
    if (opOf(collective) !== 'min' || inputs[0]?.dtype !== 'float64') return;
    for (const { data } of outputs) {
      data.forEach((value, at) => {
        if (Number.isNaN(value)) data[at] = 0;
      });
    }
  }
}

class AddsInAnotherOrder extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    const order = <T>(list: readonly T[]) => (collective.kind === 'all-reduce' ? list.toReversed() : list);
    super.runSync(collective, order(inputs), order(outputs), options);
  }
}

class ForgetsTheEnd extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs, options);
    const { data } = outputs.at(-1) as Tensor;
    if (collective.kind === 'all-gather' && data.length > 64 && data.length % 2) data[data.length - 1] = data[0] as 0;
  }
}

class SaturatesIntegers extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs, options);
    if (opOf(collective) !== 'sum' || inputs[0]?.dtype !== 'int8' || collective.kind !== 'all-reduce') return;
    const sums = inputs.map(toNumbers).reduce((a, b) => a.map((value, at) => value + (b[at] as number)));
    for (const { data } of outputs) (data as Int8Array).set(sums.map((sum) => Math.max(-128, Math.min(127, sum))));
  }
}

class ChecksNothing extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    try {
      super.runSync(collective, inputs, outputs, options);
    } catch {
      // It takes whatever comes.
    }
  }
}

class ThrowsPlainErrors extends Double {
  override runSync(...call: Parameters<Run>): void {
    try {
      super.runSync(...call);
    } catch (error) {
      throw new Error((error as Error).message);
    }
  }
}

class WorksOnAfterClose extends Double {
  override async close(): Promise<void> {}
}

class IgnoresSignals extends Double {
  override runSync(...[collective, inputs, outputs]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs);
  }
}

class ChecksTooLate extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    const { buffer, byteOffset, byteLength } = (outputs[0] as Tensor).data;
    if (byteLength > 0) new Uint8Array(buffer)[byteOffset] = 99;
    super.runSync(collective, inputs, outputs, options);
  }
}

class RefusesInSilence extends Double {
  override refuses(collective: Collective, dtype: DType): string | undefined {
    return isHalf(dtype) ? 'halves are not for me' : super.refuses(collective, dtype);
  }
}

class CannotAlias extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    // It clears the outputs first, which are the inputs of whoever works in place.
    if (collective.kind === 'all-reduce') for (const { data } of outputs) data.fill(data[0] as never);
    super.runSync(collective, inputs, outputs, options);
  }
}

class GathersBackwards extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, collective.kind === 'gather' ? inputs.toReversed() : inputs, outputs, options);
  }
}

class ScattersOneBlock extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs, options);
    if (collective.kind !== 'scatter') return;
    for (const { data } of outputs) (data as Float32Array).set(outputs[0]?.data as Float32Array);
  }
}

class KeepsBlocks extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    super.runSync(collective, inputs, outputs, options);
    if (collective.kind !== 'all-to-all') return;
    outputs.forEach(({ data }, rank) => {
      (data as Float32Array).set(inputs[rank]?.data as Float32Array);
    });
  }
}

class FillsEmptyOutputs extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    const isRoot = (rank: number) => collective.kind !== 'gather' || rank === collective.root;
    const empty = (tensor: Tensor): Tensor => ({ ...tensor, data: tensor.data.subarray(0, 0), shape: [0] });
    super.runSync(
      collective,
      inputs,
      outputs.map((output, rank) => (isRoot(rank) ? output : empty(output))),
      options,
    );
  }
}

class RunsFirstSegments extends Double {
  override runSync(...[collective, inputs, outputs, options]: Parameters<Run>): void {
    const firsts = (side: typeof inputs) => side.map((buffer) => (Array.isArray(buffer) ? buffer[0] : buffer));
    super.runSync(collective, firsts(inputs), firsts(outputs), options);
  }
}

/** Executors with one thing wrong, and a test of the suite that must notice. */
export const brokenExecutors: readonly (readonly [
  double: new (options: ReferenceCommunicatorOptions) => Communicator,
  test: RegExp,
])[] = [
  [RoundsTwice, /reduces every dtype/],
  [ChangesInputs, /changes nothing but the outputs/],
  [WritesTooFar, /at odd offsets/],
  [ReducesEverywhere, /supports every root/],
  [LosesNaN, /keeps NaN/],
  [AddsInAnotherOrder, /bits of the reference/],
  [ForgetsTheEnd, /supports every length/],
  [SaturatesIntegers, /keeps NaN, infinities, -0 and wraps/],
  [ChecksNothing, /refuses outputs that are too short/],
  [ThrowsPlainErrors, /refuses no input/],
  [WorksOnAfterClose, /once it is closed/],
  [IgnoresSignals, /already aborted/],
  [ChecksTooLate, /refuses no input/],
  [RefusesInSilence, /reduces every dtype/],
  [CannotAlias, /in place/],
  [RunsFirstSegments, /accepts buffers in segments/],
  [GathersBackwards, /supports every root/],
  [ScattersOneBlock, /supports every length/],
  [KeepsBlocks, /supports every length/],
  [FillsEmptyOutputs, /refuses a buffer with elements on a rank that has none/],
];

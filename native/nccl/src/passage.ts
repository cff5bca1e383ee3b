import type { Collective, DType, Tensor } from '@coll/core';
import { bufferLengths } from '@coll/core/internal';
import { byteSize, outputDType, reads, writes } from '@coll/core/plugin';
import { hasBlocks } from '@coll/core/schedule';
import { CallBatch } from './call-batch.js';
import type { Clique, Submission } from './clique.js';
import { bufferOf, DeviceBuffer, isOnGpu } from './device-buffer.js';
import { carrierOf } from './element-types.js';
import type { GpuMemory } from './gpu-memory.js';
import type { NcclBinding } from './nccl-binding.js';
import { countOf, lengthOf } from './operands.js';
import type { ScratchMemory } from './scratch-memory.js';

/**
 * A collective and the tensors of the local ranks. Host tensors are copied through temporary GPU
 * memory.
 */
export interface Passage {
  readonly collective: Collective;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  /** The elements to process. Default: all. */
  readonly part?: Part;
}

/** Elements `begin` to `end` (exclusive) of the operands; undefined means all. */
type Part = { readonly begin: number; readonly end: number } | undefined;

// One part can be uploaded while another is reduced and a third is downloaded.
const bytesPerPart = 8 * 2 ** 20;

/**
 * Executes a collective. Large host tensors are copied and combined in several parts at the same
 * time, but only if all ranks are in this process: with several processes, the number of NCCL calls
 * must not depend on which memory contains the tensors. Rejects only once nothing uses the memory
 * any more.
 */
export async function pass(clique: Clique, scratch: ScratchMemory, passage: Passage, submission: Submission) {
  const { collective, inputs, outputs } = passage;
  const { ranks, size } = clique.members;
  const isSplittable = !hasBlocks(collective.kind);
  const isStaged = [...inputs, ...outputs].some((tensor) => !isOnGpu(tensor));
  const parts = isSplittable && isStaged && ranks.length === size ? partsOf(passage, ranks) : [undefined];
  await allEnded(parts.map((part) => passTogether(clique, scratch, [{ ...passage, part }], submission)));
}

/** Executes collectives as one group call. Rejects only once nothing uses the memory any more. */
export async function passTogether(
  clique: Clique,
  scratch: ScratchMemory,
  passages: readonly Passage[],
  submission: Submission,
): Promise<void> {
  const crossing = new Crossing(clique, scratch);
  try {
    const entered = passages.map((passage) => crossing.enter(passage));
    const batch = new CallBatch();
    for (const { passage, sources, results } of entered)
      batch.add(passage.collective, clique.members, sources, results);
    crossing.started.push(clique.run(batch, submission));
    for (const each of entered) crossing.leave(each);
    await allEnded(crossing.started);
  } catch (error) {
    await Promise.allSettled(crossing.started);
    for (const memory of crossing.taken) memory.free();
    throw error;
  }
  for (const memory of crossing.taken) scratch.giveBack(memory);
}

/**
 * Divides sums on their GPU to compute means. With the divisor 1, converts integers to floats before
 * they are added for a mean, because their sum could wrap around.
 */
export function divided(binding: NcclBinding, into: DeviceBuffer, from: DeviceBuffer, divisor: number): Promise<void> {
  const [to, of] = [carrierOf(into.dtype).dtype, carrierOf(from.dtype).dtype];
  const [target, source] = [into.memory.handle, from.memory.handle];
  return binding.divide(target, into.byteOffset, to, source, from.byteOffset, of, from.length, divisor);
}

/**
 * Waits for all promises, even if some reject.
 * @throws the first error that was not caused by another failure
 */
export async function allEnded(started: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(started);
  const failures = ended.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  if (failures.length === 0) return;
  throw failures.find((failure) => (failure as { kind?: string }).kind !== 'spoiled') ?? failures[0];
}

/** A collective whose operands are all in GPU memory now, with one buffer per local rank. */
interface Entered {
  readonly passage: Passage;
  readonly sources: readonly (DeviceBuffer | undefined)[];
  readonly results: readonly (DeviceBuffer | undefined)[];
}

/** Copies host tensors to GPUs, and results back. Starts all copies without waiting for them. */
class Crossing {
  readonly started: Promise<unknown>[] = [];
  readonly taken: GpuMemory[] = [];
  readonly #clique: Clique;
  readonly #scratch: ScratchMemory;

  constructor(clique: Clique, scratch: ScratchMemory) {
    this.#clique = clique;
    this.#scratch = scratch;
  }

  enter(passage: Passage): Entered {
    const { collective, inputs, outputs, part } = passage;
    const { ranks, size } = this.#clique.members;
    const given = ranks.map((rank, index) =>
      reads(collective, rank) ? this.#source(index, inputs[index] as Tensor, part) : undefined,
    );
    const { dtype } = given.find((source) => source !== undefined) ?? (outputs[0] as Tensor);
    const resultDType = outputDType(collective, dtype);
    // The mean of integers has another dtype, in which they are added.
    const isConverted = resultDType !== dtype;
    const sources = isConverted
      ? given.map((source, index) => source && this.#converted(index, source, resultDType))
      : given;
    const count = part ? part.end - part.begin : countOf(passage, { size, ranks });
    const lengths = ranks.map((rank) => bufferLengths(collective, count, size, rank).output);
    const results = ranks.map((rank, index) => {
      if (!writes(collective, rank)) return undefined;
      const output = outputs[index] as Tensor;
      if (isOnGpu(output)) return cut(bufferOf(output), part);
      const own = isOnGpu(inputs[index] as Tensor) && !isConverted ? undefined : sources[index];
      const length = lengths[index] as number;
      const isAlike = own?.dtype === resultDType && own.length === length && collective.kind !== 'all-to-all';
      return isAlike ? own : this.#room(index, resultDType, length);
    });
    return { passage, sources, results };
  }

  leave({ passage: { collective, outputs, part }, results }: Entered): void {
    const { binding, members } = this.#clique;
    const isMean = 'op' in collective && collective.op === 'mean';
    results.forEach((result, index) => {
      const output = outputs[index] as Tensor;
      if (!result) return;
      if (isMean) this.started.push(divided(binding, result, result, members.size));
      if (isOnGpu(output) || isRepeated(outputs, index)) return;
      this.started.push(binding.read(result.memory.handle, 0, cutHost(output, part)));
    });
  }

  #source(index: number, input: Tensor, part: Part): DeviceBuffer {
    if (isOnGpu(input)) return cut(bufferOf(input), part);
    const data = cutHost(input, part);
    const uploaded = this.#room(index, input.dtype, data.length);
    this.started.push(this.#clique.binding.write(uploaded.memory.handle, 0, data));
    return uploaded;
  }

  #converted(index: number, source: DeviceBuffer, dtype: DType): DeviceBuffer {
    const converted = this.#room(index, dtype, source.length);
    this.started.push(divided(this.#clique.binding, converted, source, 1));
    return converted;
  }

  #room(index: number, dtype: DType, length: number): DeviceBuffer {
    const device = this.#clique.members.devices[index] as number;
    const memory = this.#scratch.take(device, length * byteSize(dtype));
    this.taken.push(memory);
    return DeviceBuffer.over(memory, dtype, length);
  }
}

function partsOf({ inputs, outputs }: Passage, ranks: readonly number[]): Part[] {
  const sample = (inputs[0] ?? outputs[0]) as Tensor;
  const length = Math.max(...ranks.map((_, index) => lengthOf((inputs[index] ?? outputs[index]) as Tensor)), 0);
  const perPart = bytesPerPart / byteSize(sample.dtype);
  if (length <= perPart) return [undefined];
  return Array.from({ length: Math.ceil(length / perPart) }, (_, index) => {
    return { begin: index * perPart, end: Math.min(length, (index + 1) * perPart) };
  });
}

function cut(buffer: DeviceBuffer, part: Part): DeviceBuffer {
  return part ? buffer.view(part.begin, part.end - part.begin) : buffer;
}

function cutHost({ data }: Tensor, part: Part): Tensor['data'] {
  return part ? data.subarray(part.begin, part.end) : data;
}

/**
 * Whether an output before the one at `index` uses the same memory, as all outputs do for a shared
 * result.
 */
function isRepeated(outputs: readonly Tensor[], index: number): boolean {
  const { data } = outputs[index] as Tensor;
  const isSame = (other: Tensor) =>
    !isOnGpu(other) && other.data.buffer === data.buffer && other.data.byteOffset === data.byteOffset;
  return data.length > 0 && outputs.findIndex(isSame) < index;
}

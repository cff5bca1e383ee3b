import type { RunOptions, Tensor } from '@coll/core';
import { byteSize, elementCount } from '@coll/core/plugin';
import { bufferOf, DeviceBuffer, isOnGpu } from './device-buffer.js';
import type { GpuGroup } from './gpu-groups.js';
import { gpuIndex } from './gpu-memory.js';
import { toHost } from './host-values.js';
import { allEnded, type Passage } from './passage.js';

/**
 * Tensors to join along `axis`: one per local rank, and the shapes of all ranks' tensors, which may
 * differ only along `axis`.
 */
export interface Parts {
  readonly own: readonly Tensor[];
  readonly shapes: readonly (readonly number[])[];
  readonly axis: number;
}

// Limits the size of the table that a launch needs.
const piecesPerLaunch = 2 ** 16;

/**
 * Joins the tensors of all ranks in rank order, by one group call. For each entry of `all`, returns
 * one new tensor per local rank, on the GPU or host like the rank's own tensor. Tensors of equal
 * length are joined by one all-gather. Otherwise each rank broadcasts its tensor, which needs no
 * padding; PyTorch does the same.
 */
export async function joinParts(
  group: GpuGroup,
  all: readonly Parts[],
  options: RunOptions,
): Promise<readonly (readonly Tensor[])[]> {
  const joined = all.map((parts) => new Joined(group, parts));
  try {
    await group.runTogether(
      joined.flatMap(({ passages }) => passages),
      options,
    );
    return await Promise.all(joined.map((each) => each.results()));
  } catch (error) {
    for (const each of joined) each.dispose();
    throw error;
  }
}

class Joined {
  readonly passages: readonly Passage[];
  readonly #parts: Parts;
  readonly #lengths: readonly number[];
  /**
   * The result consists of this number of rows. Each row contains one piece of every rank's tensor.
   */
  readonly #rows: number;
  /**
   * Two buffers per local rank: `flat` receives the tensors of all ranks one after the other,
   * `whole` the result. Both are the same buffer if the result has only one row.
   */
  readonly #flat: readonly DeviceBuffer[];
  readonly #whole: readonly DeviceBuffer[];

  constructor({ localRanks }: GpuGroup, parts: Parts) {
    const { own, shapes, axis } = parts;
    this.#parts = parts;
    this.#lengths = shapes.map(elementCount);
    this.#rows = elementCount((shapes[0] as readonly number[]).slice(0, axis));
    const total = this.#lengths.reduce((sum, length) => sum + length, 0);
    const allocate = () => own.map(({ device, dtype }) => DeviceBuffer.allocate(gpuIndex(device), dtype, total));
    this.#flat = allocate();
    this.#whole = this.#rows > 1 ? allocate() : this.#flat;
    this.passages = this.#passagesTo(localRanks, this.#flat);
  }

  /** Returns the joined tensors. Call this after the group call that fills their memory. */
  async results(): Promise<readonly Tensor[]> {
    const { own } = this.#parts;
    if (this.#whole !== this.#flat) {
      await allEnded(this.#whole.flatMap((whole, place) => this.#arranged(this.#flat[place] as DeviceBuffer, whole)));
      for (const flat of this.#flat) flat.dispose();
    }
    const shape = this.#shape();
    return Promise.all(
      this.#whole.map(async (whole, place) => {
        const { device, memory } = own[place] as Tensor;
        const result = whole.tensor(shape, device);
        if (memory) return result;
        const onHost = await toHost(result);
        whole.dispose();
        return onHost;
      }),
    );
  }

  dispose(): void {
    for (const buffer of [...this.#flat, ...this.#whole]) buffer.dispose();
  }

  #shape(): readonly number[] {
    const { shapes, axis } = this.#parts;
    const along = shapes.reduce((sum, shape) => sum + (shape[axis] as number), 0);
    return (shapes[0] as readonly number[]).with(axis, along);
  }

  #passagesTo(localRanks: readonly number[], flat: readonly DeviceBuffer[]): Passage[] {
    const own = this.#parts.own.map(inOneRow);
    const [length = 0] = this.#lengths;
    if (this.#lengths.every((other) => other === length)) {
      const outputs = flat.map((buffer) => buffer.tensor());
      return length === 0 ? [] : [{ collective: { kind: 'all-gather' }, inputs: own, outputs }];
    }
    let begin = 0;
    return this.#lengths.flatMap((count, root): Passage[] => {
      const outputs = flat.map((buffer) => buffer.view(begin, count).tensor());
      begin += count;
      // Inputs that are not read have the root's length, so that all processes' requests are equal.
      const inputs = outputs.map((output, place) => (localRanks[place] === root ? (own[place] as Tensor) : output));
      return count === 0 ? [] : [{ collective: { kind: 'broadcast', root }, inputs, outputs }];
    });
  }

  /** Copies each rank's pieces from `flat` to their rows of the result in `whole`. */
  #arranged(flat: DeviceBuffer, whole: DeviceBuffer): Promise<void>[] {
    const pieces: number[] = [];
    const bytes = byteSize(whole.dtype);
    const perRow = (whole.length / this.#rows) * bytes;
    let [part, column] = [0, 0];
    for (const length of this.#lengths) {
      const row = (length / this.#rows) * bytes;
      for (let at = 0; at < this.#rows && row > 0; at++) pieces.push(at * perRow + column, part + at * row, row);
      part += length * bytes;
      column += row;
    }
    const { binding } = whole.memory;
    const launches = Math.ceil(pieces.length / (3 * piecesPerLaunch));
    return Array.from({ length: launches }, (_, launch) => {
      const some = Float64Array.from(pieces.slice(3 * piecesPerLaunch * launch, 3 * piecesPerLaunch * (launch + 1)));
      const handlesOf = ({ memory }: DeviceBuffer) => new Array(some.length / 3).fill(memory.handle);
      return binding.copyPieces(handlesOf(whole), handlesOf(flat), some);
    });
  }
}

function inOneRow(tensor: Tensor): Tensor {
  if (isOnGpu(tensor)) return bufferOf(tensor).tensor(undefined, tensor.device);
  return { ...tensor, shape: [tensor.data.length] };
}

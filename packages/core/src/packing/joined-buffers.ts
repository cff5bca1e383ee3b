import { type Collective, writes } from '../collectives/collective.js';
import { JoinedSegments } from '../runtime/joined-segments.js';
import type { SegmentList } from '../runtime/segment-list.js';
import { allocate, type DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import { Views } from './views.js';

/** The buffers of the local ranks, in segments. */
export interface Lists {
  readonly inputs: readonly SegmentList[];
  readonly outputs: readonly SegmentList[];
}

/** Joined buffers. `separate` copies the results back to the caller's segments. */
interface Joined {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  separate(): void;
}

/** Copies the segments of an all-reduce or reduce into one buffer per rank, in memory that is used again. */
export class JoinedBuffers {
  readonly #views = new Views();
  /** Memory that is free for reuse, by dtype. */
  readonly #free = new Map<DType, Tensor[]>();

  join(collective: Collective, { inputs: from, outputs: into }: Lists, localRanks: readonly number[]): Joined {
    const taken: Tensor[] = [];
    const take = (like: SegmentList): Tensor => {
      const { length } = new JoinedSegments(like);
      const memory = this.#take(first(like).dtype, length);
      taken.push(memory);
      return { ...this.#views.of(memory, 0, length), device: first(like).device };
    };
    const inputs = from.map(take);
    inputs.forEach(({ data }, index) => {
      new JoinedSegments(from[index] as SegmentList).copyTo(data, 0, data.length);
    });
    const isShared = into.length > 1 && first(into[1] as SegmentList).data === first(first(into)).data;
    // An output shared by all ranks must not be memory that one of them reads.
    const isInPlace = !isShared && first(first(from)).dtype === first(first(into)).dtype;
    const results = isShared ? into.slice(0, 1) : into;
    const own = isInPlace ? inputs : results.map(take);
    const separate = () => {
      results.forEach((segments, index) => {
        if (!writes(collective, localRanks[index])) return;
        const { data } = own[index] as Tensor;
        new JoinedSegments(segments).copyFrom(data, 0, data.length);
      });
      for (const memory of taken) this.#giveBack(memory);
    };
    return { inputs, outputs: isShared ? into.map(() => first(own)) : own, separate };
  }

  #take(dtype: DType, length: number): Tensor {
    const free = this.#free.get(dtype) ?? [];
    const fitting = free.findIndex(({ data }) => data.length >= length);
    if (fitting >= 0) return free.splice(fitting, 1)[0] as Tensor;
    // Doubling bounds the memory wasted by outgrown buffers.
    const room = Math.max(length, 2 * Math.max(0, ...free.map(({ data }) => data.length)));
    return { data: allocate(dtype, room), dtype, shape: [room], device: '' };
  }

  #giveBack(memory: Tensor): void {
    const free = this.#free.get(memory.dtype);
    if (free) free.push(memory);
    else this.#free.set(memory.dtype, [memory]);
  }
}

function first<Item>(list: readonly Item[]): Item {
  return list[0] as Item;
}

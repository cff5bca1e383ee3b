import type { Communicator, EngineName, Tensor } from '@coll/core';
import type { Trial } from '../trial.js';

/**
 * Memory of a communicator's local ranks, kept from trial to trial: a call on memory that nobody has touched before measures the
 * kernel. Ordinary arrays where the engine needs no others, and otherwise what it allocates.
 */
export class Buffers {
  readonly #communicator: Communicator;
  readonly #isPrivate: boolean;
  readonly #kept = new Map<string, Tensor>();

  constructor(communicator: Communicator, engine: EngineName) {
    this.#communicator = communicator;
    this.#isPrivate = engine === 'native';
  }

  /** float32 elements for one rank and purpose, the same memory each time, whatever is in it. */
  take(purpose: 'input' | 'output', rank: number, length: number): Tensor {
    const key = `${purpose} ${rank}`;
    let kept = this.#kept.get(key);
    if (!kept || kept.data.length < length) {
      const shared = this.#isPrivate ? undefined : this.#communicator.allocate?.('float32', length);
      kept = shared ?? privateTensor(length);
      this.#kept.set(key, kept);
    }
    return { ...kept, data: (kept.data as Float32Array).subarray(0, length), shape: [length] };
  }
}

/** Ordinary arrays for the gradients of networks, one a tensor, as a framework hands them over; kept like `Buffers`. */
export class GradientBuffers {
  readonly #kept = new Map<string, Tensor[]>();

  take({ gradients = '', counts }: Trial, rank: number): Tensor[] {
    const key = `${gradients} ${rank}`;
    const kept = this.#kept.get(key) ?? counts.map((length) => privateTensor(length, `cpu:${rank}`));
    this.#kept.set(key, kept);
    return kept;
  }
}

function privateTensor(length: number, device = ''): Tensor {
  return { data: new Float32Array(length), dtype: 'float32', shape: [length], device };
}

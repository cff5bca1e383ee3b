import type { Communicator, EngineName, Tensor } from '@coll/core';
import { remembered } from '../remembered.js';
import type { Memory, Trial } from '../trial.js';

/** Memory of a communicator's local ranks, kept from trial to trial. A call on untouched memory would measure the page faults of the kernel. */
export class Buffers {
  readonly #communicator: Communicator;
  readonly #memory: Memory;
  readonly #kept = new Map<string, Tensor>();

  constructor(communicator: Communicator, memory: Memory) {
    this.#communicator = communicator;
    this.#memory = memory;
  }

  /** float32 elements for one rank and purpose: the same memory each time, with the contents of earlier trials. */
  take(purpose: 'input' | 'output', rank: number, length: number): Tensor {
    const key = `${purpose} ${rank}`;
    let kept = this.#kept.get(key);
    if (!kept || kept.data.length < length) {
      const isOrdinary = this.#memory === 'ordinary';
      kept = isOrdinary ? privateTensor(length) : this.#communicator.group.allocate('float32', length);
      this.#kept.set(key, kept);
    }
    return { ...kept, data: (kept.data as Float32Array).subarray(0, length), shape: [length] };
  }
}

/** Ordinary arrays for the native engine, which reads any memory, and the engine's own memory for the others. */
export function memoryOf(engine: EngineName): Memory {
  return engine === 'native' ? 'ordinary' : 'arena';
}

/** Lists of ordinary arrays, one per tensor, such as the gradients that a framework passes. They are kept like `Buffers`. */
export class GradientBuffers {
  readonly #kept = new Map<string, Tensor[]>();
  readonly #allocated = new WeakMap<Communicator, Map<string, Tensor[]>>();

  take({ gradients, counts }: Trial, rank: number): Tensor[] {
    return remembered(this.#kept, `${gradients ?? counts.join()} ${rank}`, () =>
      counts.map((length) => privateTensor(length, `cpu:${rank}`)),
    );
  }

  /** The same list in memory of the communicator, if its engine copies ordinary arrays. */
  takeFor(communicator: Communicator, trial: Trial, rank: number): Tensor[] {
    const { engine, gradients = '', counts } = trial;
    if (engine === 'native') return this.take(trial, rank);
    const kept = this.#allocated.get(communicator) ?? new Map<string, Tensor[]>();
    this.#allocated.set(communicator, kept);
    const make = (length: number) => communicator.group.allocate('float32', length);
    return remembered(kept, `${gradients} ${rank}`, () => counts.map(make));
  }
}

function privateTensor(length: number, device = ''): Tensor {
  return { data: new Float32Array(length), dtype: 'float32', shape: [length], device };
}

import type { TypedArray } from '../values/dtype.js';

/**
 * Maximum number of bytes that the recorded calls keep alive, except for one larger pair of
 * buffers.
 */
const mostBytes = 2 ** 16;
const leastBytesOfBuffer = 64;
const mostCallsOnBuffer = 1024;

/** Calls whose results are in one buffer, and whose inputs are in one buffer. */
interface CallsOnMemory {
  readonly to: ArrayBufferLike;
  readonly from: ArrayBufferLike | undefined;
  /** Bytes of both buffers together. */
  readonly bytes: number;
  /** Maps the first output of each call to its first input. */
  readonly inputs: Map<TypedArray, TypedArray | undefined>;
}

/**
 * The latest calls. A program that makes a call a second time will probably repeat it, so that
 * preparing it for repetitions pays; most calls on new memory are made only once.
 */
export class LatestCalls {
  /** Calls on small buffers, keyed by the buffer of the results; the oldest comes first. */
  readonly #small = new Map<ArrayBufferLike, CallsOnMemory>();
  #bytesOfSmall = 0;
  #large: CallsOnMemory | undefined;

  /**
   * If a call with these first arrays is recorded, removes it and returns true. Otherwise records
   * the call and returns false.
   */
  takeOrAdd(input: TypedArray | undefined, output: TypedArray): boolean {
    const { inputs } = this.#callsOn(input?.buffer, output.buffer);
    if (inputs.has(output) && inputs.get(output) === input) return inputs.delete(output);
    if (inputs.size === mostCallsOnBuffer) inputs.clear();
    inputs.set(output, input);
    return false;
  }

  clear(): void {
    this.#small.clear();
    this.#bytesOfSmall = 0;
    this.#large = undefined;
  }

  #callsOn(from: ArrayBufferLike | undefined, to: ArrayBufferLike): CallsOnMemory {
    const bytes = bytesOf(to) + (from && from !== to ? bytesOf(from) : 0);
    if (bytes > mostBytes) {
      if (this.#large?.to !== to || this.#large.from !== from) this.#large = { to, from, bytes, inputs: new Map() };
      return this.#large;
    }
    const known = this.#small.get(to);
    if (known && known.from === from && known.bytes === bytes) return known;
    if (known) this.#remove(known);
    const calls = { to, from, bytes, inputs: new Map() };
    this.#small.set(to, calls);
    this.#bytesOfSmall += bytes;
    for (const oldest of this.#small.values()) {
      if (this.#bytesOfSmall <= mostBytes) break;
      this.#remove(oldest);
    }
    return calls;
  }

  #remove({ to, bytes }: CallsOnMemory): void {
    this.#small.delete(to);
    this.#bytesOfSmall -= bytes;
  }
}

function bytesOf({ byteLength }: ArrayBufferLike): number {
  return Math.max(byteLength, leastBytesOfBuffer);
}

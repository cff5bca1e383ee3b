import type { TypedArray } from '../values/dtype.js';

/** Bytes of results of one length that are kept alive; beyond, only the result of the latest call. */
const mostBytes = 2 ** 15;
const leastBytesOfCall = 32;
const mostLengths = 256;

interface MadeCall {
  readonly input: TypedArray | undefined;
  readonly bytes: number;
}

interface CallsOfLength {
  /** Calls by their first output, oldest first. */
  readonly byOutput: Map<TypedArray, MadeCall>;
  bytes: number;
}

/**
 * The latest calls. A program that makes a call a second time will probably repeat it, so that
 * preparing it for repetitions pays; most calls on new memory are made only once.
 */
export class LatestCalls {
  readonly #byLength = new Map<number, CallsOfLength>();

  /** Whether a call with these first buffers is among the latest. Adds it otherwise. */
  has(input: TypedArray | undefined, output: TypedArray): boolean {
    const calls = this.#callsOf(output.length);
    const made = calls.byOutput.get(output);
    if (made) remove(calls, output, made);
    if (made && made.input === input) return true;
    const added = { input, bytes: Math.max(output.byteLength, leastBytesOfCall) };
    calls.byOutput.set(output, added);
    calls.bytes += added.bytes;
    for (const [oldest, call] of calls.byOutput) {
      if (calls.bytes <= mostBytes || oldest === output) break;
      remove(calls, oldest, call);
    }
    return false;
  }

  clear(): void {
    this.#byLength.clear();
  }

  #callsOf(length: number): CallsOfLength {
    let calls = this.#byLength.get(length);
    if (!calls) {
      if (this.#byLength.size === mostLengths) this.#byLength.clear();
      calls = { byOutput: new Map(), bytes: 0 };
      this.#byLength.set(length, calls);
    }
    return calls;
  }
}

function remove(calls: CallsOfLength, output: TypedArray, { bytes }: MadeCall): void {
  calls.byOutput.delete(output);
  calls.bytes -= bytes;
}

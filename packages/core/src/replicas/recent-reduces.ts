import type { ReduceOp } from '../collectives/reduce-op.js';
import { isKnownCall, type KnownCall, knownCall } from './known-call.js';
import type { GroupCall, ReplicaCall, ReplicaCallOptions, ReplicaValue } from './replica-call.js';

const mostReduces = 4;
const mostBytes = 2 ** 16;

/** A reduce of arrays into known arrays, which is probably repeated. */
export interface RecentReduce<Work> {
  readonly known: KnownCall;
  readonly made: GroupCall;
  readonly bytes: number;
  /** What the call executes, together with those of other replicas. Undefined until it was made. */
  work: Work | undefined;
}

/**
 * The latest reduces of one replica: up to four if their arrays have at most 64 KiB together,
 * otherwise the latest one.
 */
export class RecentReduces<Work> {
  readonly #reduces: RecentReduce<Work>[] = [];
  #bytes = 0;
  /** The index of the reduce that was found last. */
  #found = 0;

  /** The reduce with these arguments. */
  find(op: ReduceOp, value: ReplicaValue, options: ReplicaCallOptions | undefined): RecentReduce<Work> | undefined {
    const reduces = this.#reduces;
    for (let tried = 0; tried < reduces.length; tried++) {
      const index = (this.#found + tried) % reduces.length;
      const reduce = reduces[index] as RecentReduce<Work>;
      if (!isKnownCall(reduce.known, op, value, options)) continue;
      this.#found = index;
      return reduce;
    }
    return undefined;
  }

  /** The reduce that prepared a call. */
  of(call: ReplicaCall): RecentReduce<Work> | undefined {
    const found = this.#reduces[this.#found];
    return found?.made.call === call ? found : this.#reduces.find(({ made }) => made.call === call);
  }

  /** Remembers a reduce, unless its arrays are unknown. Forgets older ones. */
  add(op: ReduceOp, value: ReplicaValue, options: ReplicaCallOptions | undefined, made: GroupCall): void {
    const known = knownCall(op, value, options);
    if (known) {
      const bytes = bytesOf(known.values.arrays) + bytesOf(known.into.arrays);
      this.#found = this.#reduces.push({ known, made, bytes, work: undefined }) - 1;
      this.#bytes += bytes;
    }
    const least = known ? 1 : 0;
    while (this.#reduces.length > mostReduces || (this.#bytes > mostBytes && this.#reduces.length > least)) {
      this.#bytes -= this.#reduces.shift()?.bytes as number;
      this.#found = Math.max(0, this.#found - 1);
    }
  }

  clear(): void {
    this.#reduces.length = 0;
    this.#bytes = 0;
  }
}

function bytesOf(arrays: KnownCall['values']['arrays']): number {
  return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

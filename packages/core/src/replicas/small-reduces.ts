import { lostBufferError } from '../collectives/call-errors.js';
import type { Purpose } from '../collectives/caller-request.js';
import { type CollectiveOp, nameOf } from '../collectives/collective.js';
import type { ResolvedOptions } from '../runtime/call-options.js';
import type { Communicator } from '../runtime/communicator.js';
import { type OnePhase, preparedRun, type Run } from '../runtime/drive.js';
import type { CollError } from '../support/errors.js';
import { allocate, isFloating } from '../values/dtype.js';
import { hasLength } from '../values/has-length.js';
import type { Value } from '../values/indexed-slices.js';
import { copyElements, sameShape, type Tensor } from '../values/tensor.js';

// Up to here, copying a value and its result takes less time than passing new memory to an engine.
const mostBytes = 2 ** 16;

// Longer arrays have a buffer of their own, so that looking at it does not make one.
const mostBytesWithoutBuffer = 64;

const mostReduces = 8;

/** What ranks compare in the all-reduce of one value, besides its dtype and shape, and how it is executed. */
export interface SmallRequest {
  readonly op: CollectiveOp;
  readonly form: string;
  readonly purpose: Purpose | undefined;
  readonly announced: readonly number[] | undefined;
  readonly bytesPerPack: number;
  readonly timeoutSeconds: number | null;
  readonly checkCalls: boolean;
}

/** The all-reduce of a small value, in memory of its own. */
interface SmallReduce {
  readonly request: SmallRequest;
  /** One for each local rank. */
  readonly copies: readonly Tensor[];
  readonly runs: readonly Run[];
  /** The same collectives, prepared when the reduce is made for the second time. */
  persistent: readonly Run[] | undefined;
}

/** Describes the collectives on these copies, one for each local rank. */
type Describe = (copies: readonly Tensor[]) => readonly Run[];

/**
 * The latest all-reduces of small values on new memory. A call that is equal except for its memory is made on
 * a copy, and need not be described and checked again. A reduce that fails is not given back, because the engine
 * may still use its memory.
 */
export class SmallReduces {
  readonly #on: Communicator;
  readonly #free: SmallReduce[] = [];

  constructor(on: Communicator) {
    this.#on = on;
  }

  /**
   * The all-reduce of one value of each local rank, which all have the same dtype and shape, into results of that
   * dtype and shape. `describe` is called if there was no such call before.
   */
  work(
    values: readonly Tensor[],
    results: readonly Tensor[],
    request: SmallRequest,
    call: Pick<ResolvedOptions, 'signal' | 'turn'> | undefined,
    describe: Describe,
  ): OnePhase<readonly Tensor[]> {
    const reduce = this.#take(values, request) ?? newReduce(values, request, describe);
    const { copies, runs, persistent } = reduce;
    for (let at = 0; at < copies.length; at++) copyElements((copies[at] as Tensor).data, (values[at] as Tensor).data);
    const finish = () => {
      for (let at = 0; at < copies.length; at++) {
        const { data } = copies[at] as Tensor;
        const result = results[at] as Tensor;
        if (!hasLength(result.data, data.length)) throw this.#lost(request.op, at);
        copyElements(result.data, data);
      }
      this.#free.push(reduce);
      if (this.#free.length > mostReduces) this.#free.shift();
      return results;
    };
    const isPersistent = persistent && !call?.signal && !call?.turn;
    return { on: this.#on, runs: isPersistent ? persistent : runs, finish };
  }

  /** A reduce that was made before; undefined if there is none, or if all are under way. */
  #take(values: readonly Tensor[], request: SmallRequest): SmallReduce | undefined {
    const free = this.#free;
    for (let at = free.length - 1; at >= 0; at--) {
      const known = free[at] as SmallReduce;
      if (!isFor(known, values[0] as Tensor, request)) continue;
      free.splice(at, 1);
      known.persistent ??= this.#prepared(known);
      return known;
    }
    return undefined;
  }

  /** Undefined if the communicator cannot prepare the collectives, or not yet. */
  #prepared({ runs, request: { timeoutSeconds, checkCalls } }: SmallReduce): readonly Run[] | undefined {
    const prepared = runs.map((run) => preparedRun(this.#on, run, { timeoutSeconds, checkCalls }));
    return prepared.every(({ persistent }) => persistent) ? prepared : undefined;
  }

  /** The memory for a result was detached during the call. Fails the group if other callers make the calls of other ranks. */
  #lost(op: CollectiveOp, at: number): CollError {
    const { localRanks, size, group } = this.#on;
    const error = lostBufferError(nameOf({ kind: 'all-reduce', op }), localRanks[at] as number);
    if (localRanks.length < size) group.fail(error);
    return error;
  }
}

function newReduce(values: readonly Tensor[], request: SmallRequest, describe: Describe): SmallReduce {
  const copies: Tensor[] = [];
  for (const { data, dtype, shape, device } of values)
    copies.push({ data: allocate(dtype, data.length), dtype, shape, device });
  return { request, copies, runs: describe(copies), persistent: undefined };
}

function isFor({ request: known, copies }: SmallReduce, { dtype, shape }: Tensor, request: SmallRequest): boolean {
  const [copy] = copies as readonly [Tensor];
  return (
    copy.dtype === dtype &&
    known.op === request.op &&
    known.form === request.form &&
    known.purpose === request.purpose &&
    known.bytesPerPack === request.bytesPerPack &&
    known.timeoutSeconds === request.timeoutSeconds &&
    known.checkCalls === request.checkCalls &&
    sameShape(copy.shape, shape) &&
    (known.announced === request.announced || sameShape(known.announced ?? [], request.announced ?? []))
  );
}

/** Whether a call with one value can be made on a copy: value and result are small, and of one dtype. Without `result`, it is new. */
export function canBeCopied(op: CollectiveOp, value: Value, result: Tensor | undefined): boolean {
  if (!isSmall(value)) return false;
  if (!result) return op !== 'mean' || isFloating(value.dtype);
  return result === value || (result.dtype === value.dtype && isSmall(result));
}

function isSmall(value: Value): boolean {
  if (!('data' in value) || value.memory) return false;
  const { data } = value;
  if (data.byteLength > mostBytes || data.length === 0) return false;
  // Shared memory is used in place, so that the engine sees what other replicas do with it.
  return data.byteLength <= mostBytesWithoutBuffer || data.buffer instanceof ArrayBuffer;
}

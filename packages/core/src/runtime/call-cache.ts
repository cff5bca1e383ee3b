import { type CallerRequest, isSameRequest } from '../collectives/caller-request.js';
import { type Collective, isSameCollective } from '../collectives/collective.js';
import type { Refusals } from '../collectives/refusals.js';
import type { DType, TypedArray } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import type { RunOptions, Segments } from './communicator.js';
import { LatestCalls } from './latest-calls.js';
import { isList, type SegmentList } from './segment-list.js';

/** A validated call, with its prepared handle. */
export interface PreparedCall<Handle> {
  readonly handle: Handle;
  /** Whether the handle is kept for repetitions of the call. */
  readonly isKept: boolean;
  readonly collective: Collective;
  readonly layout: number;
  readonly isShared: boolean;
  readonly request: CallerRequest | undefined;
  /** The calls that this rank had refused when it prepared this one. Default: none. */
  readonly refusals?: Refusals | undefined;
  /** Bytes of the local inputs or outputs, whichever are larger. */
  readonly bytes: number;
  /**
   * The buffers of the first rank, then those of the second, and so on. The same list as `outputs`
   * if the call is in place.
   */
  readonly inputs: readonly PreparedBuffer[];
  readonly outputs: readonly PreparedBuffer[];
  /** What the call does, as the recorder writes it. Undefined until then. */
  recordedAs?: number | undefined;
  /** The root, as the recorder writes it. Undefined until then. */
  recordedPeer?: number | undefined;
  /** Bytes of the buffer of one rank. Undefined until then. */
  recordedBytes?: number | undefined;
  /** The number of its latest repetition in the recorder. */
  recordedNumber?: number | undefined;
}

/**
 * An array that a call uses, with its size in bytes when the call was validated. Not its length: see
 * `hasLength`.
 */
export interface PreparedBuffer {
  readonly data: TypedArray;
  readonly dtype: DType;
  readonly byteLength: number;
}

/**
 * Calls that were made more than once. A training step repeats the same calls on the same memory;
 * repeated calls skip validation unless an array was detached or resized, which changes its length.
 */
export class CallCache<Handle> {
  readonly #byOutput = new WeakMap<TypedArray, PreparedCall<Handle>>();
  #latest: PreparedCall<Handle> | undefined;
  readonly #made = new LatestCalls();

  /** An earlier call with equal arguments on the same memory; undefined if there is none. */
  find(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions,
    refusals?: Refusals,
  ): PreparedCall<Handle> | undefined {
    const [output] = outputs;
    const call = output && this.#candidate(collective, isList(output) ? output[0] : output, options);
    if (!call || call.refusals !== refusals || !isOn(call.inputs, inputs)) return undefined;
    return (outputs === inputs && call.outputs === call.inputs) || isOn(call.outputs, outputs) ? call : undefined;
  }

  /** Prepares a new call, and keeps it if `isRepeated`, or if the same call was made before. */
  add(
    collective: Collective,
    inputs: readonly SegmentList[],
    outputs: readonly SegmentList[],
    { layout = 0, sharedResult = false, request }: RunOptions,
    prepare: (isKept: boolean) => Handle,
    isRepeated: boolean,
    refusals?: Refusals,
  ): PreparedCall<Handle> {
    const key = outputs[0]?.[0]?.data;
    const isKept = isRepeated || (key !== undefined && this.#made.takeOrAdd(inputs[0]?.[0]?.data, key));
    const read = preparedBuffers(inputs);
    const written = areSame(inputs, outputs) ? read : preparedBuffers(outputs);
    const call = {
      handle: prepare(isKept),
      isKept,
      collective,
      layout,
      isShared: sharedResult,
      request,
      refusals,
      bytes: Math.max(read.bytes, written.bytes),
      inputs: read.buffers,
      outputs: written.buffers,
      recordedAs: undefined,
      recordedPeer: undefined,
      recordedBytes: undefined,
      recordedNumber: undefined,
    };
    if (!isKept || !key) return call;
    this.#byOutput.set(key, call);
    this.#latest = call;
    return call;
  }

  /** Drops all references, so that the memory can be freed. */
  forget(): void {
    this.#latest = undefined;
    this.#made.clear();
  }

  #candidate(
    collective: Collective,
    output: Tensor | undefined,
    { layout = 0, sharedResult = false, request }: RunOptions,
  ): PreparedCall<Handle> | undefined {
    if (!output) return undefined;
    let call = this.#latest;
    if (call?.outputs[0]?.data !== output.data) {
      call = this.#byOutput.get(output.data);
      this.#latest = call;
    }
    if (!call || !isSameCollective(call.collective, collective) || !isSameRequest(call.request, request))
      return undefined;
    return call.layout === layout && call.isShared === sharedResult ? call : undefined;
  }
}

/** Whether no array of a call was detached or resized since the call was validated. */
export function isWhole({ inputs, outputs }: PreparedCall<unknown>): boolean {
  // Each look at the size of an array takes about ten nanoseconds.
  return inputs.every(hasItsSize) && (inputs === outputs || outputs.every(hasItsSize));
}

/**
 * Finds a rank whose memory was transferred or resized since the call was validated. Required after
 * other code may have run during a call.
 * @returns undefined if all memory is unchanged
 *
 * @example
 * ```ts
 * import { type PreparedCall, lostRank } from '@coll/core/plugin';
 *
 * const data = new Float32Array(2);
 * const buffers = [{ data, dtype: 'float32', byteLength: 8 }] as const;
 * const call: PreparedCall<string> = {
 *   ...{ handle: 'prepared', isKept: true, collective: { kind: 'all-gather' }, request: undefined },
 *   ...{ layout: 0, isShared: false, bytes: 8, inputs: buffers, outputs: buffers },
 * };
 * structuredClone(data, { transfer: [data.buffer] }); // the program gives its memory away
 * console.log(lostRank(call, 1)); // 0
 * ```
 */
export function lostRank({ inputs, outputs }: PreparedCall<unknown>, ranks: number): number | undefined {
  const lost = [...inputs, ...outputs].findIndex((buffer) => !hasItsSize(buffer));
  return lost < 0 ? undefined : Math.floor((lost % inputs.length) / (inputs.length / ranks));
}

function hasItsSize({ data, byteLength }: PreparedBuffer): boolean {
  return data.byteLength === byteLength;
}

/** Whether both lists have the same arrays, with the same dtypes. */
function areSame(inputs: readonly SegmentList[], outputs: readonly SegmentList[]): boolean {
  return (
    inputs.length === outputs.length &&
    inputs.every((list, rank) => {
      const others = outputs[rank] as SegmentList;
      return (
        list.length === others.length &&
        list.every(({ data, dtype }, index) => others[index]?.data === data && others[index].dtype === dtype)
      );
    })
  );
}

function preparedBuffers(lists: readonly SegmentList[]) {
  const buffers: PreparedBuffer[] = [];
  let bytes = 0;
  for (const list of lists) {
    for (const { data, dtype } of list) {
      buffers.push({ data, dtype, byteLength: data.byteLength });
      bytes += data.byteLength;
    }
  }
  return { buffers, bytes };
}

/** Whether these buffers, one per rank, consist of the known arrays. */
function isOn(known: readonly PreparedBuffer[], buffers: readonly Segments[]): boolean {
  const [only] = buffers;
  if (only && buffers.length === 1 && known.length === 1 && !isList(only)) return isOf(known[0], only);
  let next = 0;
  for (const buffer of buffers) {
    const count = isList(buffer) ? buffer.length : 1;
    if (count * buffers.length !== known.length) return false;
    if (isList(buffer)) {
      for (const segment of buffer) if (!isOf(known[next++], segment)) return false;
    } else if (!isOf(known[next++], buffer)) return false;
  }
  return next === known.length;
}

// A value that is not a tensor is never known; validation reports it.
function isOf(known: PreparedBuffer | undefined, tensor: Tensor | null | undefined): boolean {
  if (!known || !tensor) return false;
  return known.data === tensor.data && hasItsSize(known) && known.dtype === tensor.dtype;
}

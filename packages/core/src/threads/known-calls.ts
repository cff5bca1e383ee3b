import { type CallerRequest, isSameRequest } from '../collectives/caller-request.js';
import { type Collective, isSameCollective } from '../collectives/collective.js';
import type { RunOptions, Segments } from '../collectives/communicator.js';
import type { DType, TypedArray } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import { isList, type Pieces } from './pieces.js';

/** A call as it was checked, with what was made of it. */
export interface KnownCall<Handle> {
  readonly handle: Handle;
  readonly collective: Collective;
  readonly layout: number;
  readonly isShared: boolean;
  readonly request: CallerRequest | undefined;
  /** Of the inputs or the outputs that are here, whichever are larger. */
  readonly bytes: number;
  /** Those of the first rank, then those of the second, and so on. */
  readonly inputs: readonly KnownBuffer[];
  readonly outputs: readonly KnownBuffer[];
}

/** Memory of a call, as it was when the call was checked. */
export interface KnownBuffer {
  readonly data: TypedArray;
  readonly dtype: DType;
  readonly length: number;
}

/**
 * Calls that were made before. A training step makes the same ones again and again, on the same memory: those need no second
 * look, as long as each array is as long as it was, which one that was detached or resized is not.
 */
export class KnownCalls<Handle> {
  readonly #byOutput = new WeakMap<TypedArray, KnownCall<Handle>>();
  #latest: KnownCall<Handle> | undefined;

  /** The same call, made before on the same memory; undefined if something about it is new. */
  find(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options: RunOptions,
  ): KnownCall<Handle> | undefined {
    const [output] = outputs;
    const call = output && this.#candidate(collective, isList(output) ? output[0] : output, options);
    return call && isOn(call.inputs, inputs) && isOn(call.outputs, outputs) ? call : undefined;
  }

  add(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    { layout = 0, sharedResult = false, request }: RunOptions,
    handle: Handle,
  ): KnownCall<Handle> {
    const call = {
      handle,
      collective,
      layout,
      isShared: sharedResult,
      request,
      bytes: Math.max(bytesOf(inputs), bytesOf(outputs)),
      inputs: inputs.flat().map(knownOf),
      outputs: outputs.flat().map(knownOf),
    };
    const key = outputs[0]?.[0]?.data;
    if (key) this.#byOutput.set(key, call);
    this.#latest = call;
    return call;
  }

  /** Keeps no memory from being freed any more. */
  forget(): void {
    this.#latest = undefined;
  }

  #candidate(
    collective: Collective,
    output: Tensor | undefined,
    { layout = 0, sharedResult = false, request }: RunOptions,
  ): KnownCall<Handle> | undefined {
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

/**
 * Whether memory of the call was given away, or taken back in part, since it was checked: which of its ranks' memory. Who lets other code run while
 * it is under way has to ask. @returns undefined where all is as it was
 */
export function lostRank({ inputs, outputs }: KnownCall<unknown>, ranks: number): number | undefined {
  const lost = [...inputs, ...outputs].findIndex(({ data, length }) => data.length !== length);
  return lost < 0 ? undefined : Math.floor((lost % inputs.length) / (inputs.length / ranks));
}

function bytesOf(lists: readonly Pieces[]): number {
  return lists.flat().reduce((sum, { data }) => sum + data.byteLength, 0);
}

function knownOf({ data, dtype }: Tensor): KnownBuffer {
  return { data, dtype, length: data.length };
}

/** Whether these buffers, one per rank, are made of the known arrays. */
function isOn(known: readonly KnownBuffer[], buffers: readonly Segments[]): boolean {
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

// What is no tensor is not known, and told of by those who check.
function isOf(known: KnownBuffer | undefined, tensor: Tensor | null | undefined): boolean {
  if (!known || !tensor) return false;
  return known.data === tensor.data && known.length === tensor.data.length && known.dtype === tensor.dtype;
}

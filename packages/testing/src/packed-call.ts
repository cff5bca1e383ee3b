import type { Tensor, TypedArray } from '@coll/core';
import type { Call, Outcome } from './group.js';
import { buffersOf, decodeError, type EncodedError, encodeError } from './rank-messages.js';

// Arrays that are posted to another process lose their buffers: two views of one buffer would
// become two separate arrays.

/**
 * A call in a form that can be posted to another process. It contains each buffer once and, for
 * each tensor, the index of its buffer and the position in that buffer.
 */
export interface PackedCall extends Omit<Call, 'inputs' | 'outputs'> {
  readonly buffers: readonly { readonly bytes: Uint8Array; readonly isShared: boolean }[];
  readonly inputs: readonly PackedTensor[];
  readonly outputs: readonly PackedTensor[];
}

// In an invalid tensor, dtype and shape may contradict the array.
interface PackedTensor extends Omit<Tensor, 'data'> {
  readonly buffer: number;
  readonly array: string;
  readonly byteOffset: number;
  readonly length: number;
}

/**
 * The outcomes of calls, and the contents of the buffers of each call. The buffers of a call are in
 * the order of `buffersOf`.
 */
export interface PackedOutcomes {
  readonly outcomes: readonly (EncodedError | undefined)[];
  readonly buffers: readonly (readonly Uint8Array[])[];
}

export function packCall(call: Call): PackedCall {
  const buffers = buffersOf(call);
  const pack = ({ data, dtype, shape, device }: Tensor): PackedTensor => {
    const { byteOffset, length } = data;
    return {
      buffer: buffers.indexOf(data.buffer),
      array: data.constructor.name,
      byteOffset,
      length,
      dtype,
      shape,
      device,
    };
  };
  return {
    ...call,
    buffers: buffers.map((buffer) => ({
      bytes: new Uint8Array(buffer),
      isShared: buffer instanceof SharedArrayBuffer,
    })),
    inputs: call.inputs.map(pack),
    outputs: call.outputs.map(pack),
  };
}

export function unpackCall({ buffers, inputs, outputs, ...options }: PackedCall): Call {
  const made = buffers.map(({ bytes, isShared }) => {
    const buffer = isShared ? new SharedArrayBuffer(bytes.length) : new ArrayBuffer(bytes.length);
    new Uint8Array(buffer).set(bytes);
    return buffer;
  });
  const unpack = ({ buffer, array, byteOffset, length, ...tensor }: PackedTensor): Tensor => {
    const ArrayClass = globalThis[array as 'Uint8Array'] as new (...view: unknown[]) => TypedArray;
    return { ...tensor, data: new ArrayClass(made[buffer], byteOffset, length) };
  };
  return { ...options, inputs: inputs.map(unpack), outputs: outputs.map(unpack) };
}

/**
 * Packs the outcomes of calls, and the contents of their buffers, for another process.
 * @param before the buffers of each call, collected before the call, which may detach them
 */
export function packOutcomes(
  outcomes: readonly Outcome[],
  before: readonly (readonly ArrayBufferLike[])[],
): PackedOutcomes {
  return {
    outcomes: outcomes.map((outcome) => outcome && encodeError(outcome)),
    // A buffer that the call detached is empty, and no array can be made on it.
    buffers: before.map((buffers) =>
      buffers.map((buffer) => (buffer.byteLength > 0 ? new Uint8Array(buffer) : new Uint8Array())),
    ),
  };
}

/**
 * Copies the buffers from the other process back into the caller's buffers, and returns the
 * outcomes.
 */
export function takeOutcomes(calls: readonly Call[], { outcomes, buffers }: PackedOutcomes): Outcome[] {
  calls.forEach((call, index) => {
    buffersOf(call).forEach((buffer, position) => {
      const held = buffers[index]?.[position];
      // A buffer that was detached in the other process has no contents to copy.
      if (held && held.length === buffer.byteLength) new Uint8Array(buffer).set(held);
    });
  });
  return outcomes.map((outcome) => outcome && decodeError(outcome));
}

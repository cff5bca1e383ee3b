import type { Tensor, TypedArray } from '@coll/core';
import type { Call, Outcome } from './group.js';
import { buffersOf, decodeError, type EncodedError, encodeError } from './rank-messages.js';

// What is posted to another process arrives as arrays that have lost their buffers: two views of one buffer would be two arrays there.

/** A call with its memory apart: each buffer once, and where in it each tensor is. */
export interface PackedCall extends Omit<Call, 'inputs' | 'outputs'> {
  readonly buffers: readonly { readonly bytes: Uint8Array; readonly isShared: boolean }[];
  readonly inputs: readonly PackedTensor[];
  readonly outputs: readonly PackedTensor[];
}

// The array of a wrong tensor need not fit what the rest of it says.
interface PackedTensor extends Omit<Tensor, 'data'> {
  readonly buffer: number;
  readonly array: string;
  readonly byteOffset: number;
  readonly length: number;
}

/** What came of calls, and what the buffers of each hold then, in the order of its buffers. */
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

/** @param before the buffers of each call, taken before it was made */
export function packOutcomes(
  outcomes: readonly Outcome[],
  before: readonly (readonly ArrayBufferLike[])[],
): PackedOutcomes {
  return {
    outcomes: outcomes.map((outcome) => outcome && encodeError(outcome)),
    // What was detached meanwhile is empty, and makes no array.
    buffers: before.map((buffers) =>
      buffers.map((buffer) => (buffer.byteLength > 0 ? new Uint8Array(buffer) : new Uint8Array())),
    ),
  };
}

/** Puts what the other process's copies of the buffers hold into the caller's. */
export function takeOutcomes(calls: readonly Call[], { outcomes, buffers }: PackedOutcomes): Outcome[] {
  calls.forEach((call, index) => {
    buffersOf(call).forEach((buffer, position) => {
      const held = buffers[index]?.[position];
      // Nothing is held of what was detached there.
      if (held && held.length === buffer.byteLength) new Uint8Array(buffer).set(held);
    });
  });
  return outcomes.map((outcome) => outcome && decodeError(outcome));
}

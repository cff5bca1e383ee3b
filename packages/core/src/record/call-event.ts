import { purposeName } from '../collectives/caller-request.js';
import { type CollectiveKind, type CollectiveOp, opOf, rootOf } from '../collectives/collective.js';
import { byteSize, type DType } from '../values/dtype.js';
import {
  codeOf,
  type RecordedBuffer,
  type RecordedCall,
  type RecordedCommunicator,
  type RecordedGroup,
  type RecordedMessage,
  shownMessage,
} from './recorder-hook.js';

/**
 * What subscribers of the tracing channel `coll:collective` get about a collective or a message, the
 * same object for all events of a call.
 *
 * @example
 * ```ts
 * import { tracingChannel } from 'node:diagnostics_channel';
 * import type { CallEvent } from '@coll/core';
 * import { direct } from '@coll/direct';
 * import { MirroredStrategy } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
 * const { start } = tracingChannel('coll:collective');
 * const print = (event: unknown) => {
 *   const { operation, elements, dtype, size } = event as CallEvent;
 *   console.log(operation, elements, dtype, size); // all-reduce mean 1000 float32 2
 * };
 * start.subscribe(print);
 * await strategy.run((replica) => replica.allReduce('mean', new Float32Array(1000)));
 * start.unsubscribe(print);
 * ```
 */
export interface CallEvent {
  /** Name of the call, without ranks: `all-reduce sum`, `broadcast`, `send`, `barrier`. */
  readonly operation: string;
  readonly kind: CollectiveKind | 'send' | 'receive';
  /** Undefined if the call combines nothing. */
  readonly op: CollectiveOp | undefined;
  /** Of the elements that are exchanged. */
  readonly dtype: DType | undefined;
  /** Number of elements of this rank's input or output, whichever are more. */
  readonly elements: number;
  /** Bytes of this rank's input or output, whichever are more. */
  readonly bytes: number;
  /** The root of a collective, or the other rank of a message. Undefined if there is none. */
  readonly peer: number | undefined;
  /** Equal on all ranks of the group, and on no other group. */
  readonly group: string;
  /** The rank of this thread; -1 if the thread has the buffers of all ranks. */
  readonly rank: number;
  /** Number of ranks. */
  readonly size: number;
  /** Number of the call in the group, from 0 and equal on all ranks. For messages: in its pair of ranks. */
  readonly number: number;
  /** Undefined for messages. */
  readonly algorithm: string | undefined;
  readonly engine: string;
  readonly transport: string;
  /** Set to undefined once the call has succeeded. Results are in the caller's memory. */
  result?: undefined;
  /** Set once the call has failed. */
  error?: unknown;
}

/** What subscribers of the channels `coll:group:opened`, `coll:group:lost` and `coll:group:closed` get. */
export interface GroupEvent {
  /** Equal on all ranks of the group, and on no other group. */
  readonly group: string;
  /** How the ranks run: `threads` or `processes`. */
  readonly kind: string;
  /** Number of ranks. */
  readonly size: number;
  /** The rank of this thread. */
  readonly rank: number;
  readonly engine: string;
  readonly transport: string;
  /** The group of which this one is a part. Undefined if it was not made by `split`. */
  readonly parent: string | undefined;
}

/** Why a group has failed. */
export interface GroupLostEvent extends GroupEvent {
  /** Code of the error; `error` if it is not a `CollError`. */
  readonly code: string;
  /** Message of the error. Undefined if it may contain names of variables. */
  readonly message: string | undefined;
  /** The rank that failed, or because of which the group failed. Undefined if not known. */
  readonly failedRank: number | undefined;
}

/** The next collective of a group. */
export function callEvent({ group, algorithm }: RecordedCommunicator, call: RecordedCall): CallEvent {
  const { collective, request, inputs, outputs } = call;
  const asked = request?.collective ?? collective;
  const op = opOf(asked);
  const isMeasurement = request?.purpose === 'measure';
  const own = isMeasurement ? 'measure the links' : purposeName(request?.purpose);
  const { rank, size } = group.identity;
  const ranks = rank < 0 ? size : 1;
  return {
    operation: own ?? (op ? `${asked.kind} ${op}` : asked.kind),
    kind: asked.kind,
    op,
    dtype: (inputs[0] ?? outputs[0])?.dtype,
    elements: Math.max(elementsIn(inputs), elementsIn(outputs)) / ranks,
    bytes: call.bytes / ranks,
    peer: rootOf(asked),
    ...placeOf(group),
    number: group.calls,
    algorithm,
  };
}

/** A message that begins. */
export function messageEvent(group: RecordedGroup, message: RecordedMessage): CallEvent {
  const { verb, peer, number, dtype, bytes } = message;
  return {
    ...{ operation: verb, kind: verb, op: undefined, dtype, elements: bytes / byteSize(dtype), bytes, peer },
    ...placeOf(group),
    ...{ number, algorithm: undefined },
  };
}

/** A group that has opened or closed. */
export function groupEvent(group: RecordedGroup): GroupEvent {
  const { kind, parent } = group.identity;
  return { kind, parent, ...placeOf(group) };
}

/** A group that has failed. `rank`: the rank that has failed. */
export function groupLostEvent(group: RecordedGroup, error: unknown, rank: number | undefined): GroupLostEvent {
  return { ...groupEvent(group), code: codeOf(error), message: shownMessage(error), failedRank: rank };
}

function placeOf({ identity: { id, rank, size, engine, transport } }: RecordedGroup) {
  return { group: id, rank, size, engine, transport };
}

function elementsIn(buffers: readonly RecordedBuffer[]): number {
  return buffers.reduce((sum, { dtype, byteLength }) => sum + byteLength / byteSize(dtype), 0);
}

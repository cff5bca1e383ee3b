import assert from 'node:assert/strict';
import type { Collective, DType, Tensor } from '@coll/core';
import { opOf } from '@coll/core/plugin';
import { type Call, type CallOptions, type GroupMember, partOf } from '../group.js';
import { contribute } from '../oracle/contributions.js';
import { placeBuffers } from './placement.js';

export interface GoodRequest {
  readonly collective: Collective;
  readonly dtype?: DType;
  /** Number of elements per rank (`n` in `Collective`). Default: 4. */
  readonly block?: number;
  readonly options?: CallOptions;
}

/** Makes a member's part of a valid call, with separate memory for each buffer. */
export function goodCall(
  size: number,
  member: Pick<GroupMember, 'localRanks'>,
  { collective, options, ...rest }: GoodRequest,
): Call {
  const { dtype = 'float32', block = 4 } = rest;
  const buffers = placeBuffers({ collective, dtype, size, count: block, placement: 'in own memory' });
  buffers.inputs.forEach(({ data }, rank) => {
    contribute(data, { flavour: 'whole', dtype, op: opOf(collective), rank });
  });
  return partOf({ ...options, collective, ...buffers }, member);
}

/** Records the buffers of some calls, in order to check later that they have not changed. */
export class Untouched {
  readonly #before = new Map<ArrayBufferLike, Buffer>();

  constructor(calls: readonly Call[]) {
    for (const { buffer } of calls.flatMap(arraysOf)) this.#before.set(buffer, Buffer.from(Buffer.from(buffer)));
  }

  /**
   * Fails if a byte of the recorded buffers has changed. Ignores detached buffers, which have no
   * bytes.
   */
  assert(title: string): void {
    for (const [buffer, before] of this.#before) {
      const isSame = buffer.byteLength === 0 || Buffer.from(buffer).equals(before);
      assert.ok(isSame, `${title}: a buffer has changed`);
    }
  }
}

function arraysOf({ inputs, outputs }: Call): Tensor['data'][] {
  return [...inputs, ...outputs].map(({ data }) => data);
}

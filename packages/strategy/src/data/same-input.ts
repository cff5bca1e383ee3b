import { asTensor, type Structure, ValueError } from '@coll/core';
import { flatten } from '@coll/core/internal';
import type { Batch } from './batch.js';
import type { Agreement } from './read-ahead.js';
import type { Readers } from './readers.js';

/** The part of `RebatchedSteps` that is compared. */
interface Checked {
  /** Checksum of the first batch; undefined if there is none. */
  readonly checksum: number | undefined;
}

/**
 * Compares the checksum of the first batch of a reading with the checksums of all other readers of
 * the same dataset.
 */
export class SameInput implements Agreement<Structure<unknown>> {
  readonly #readers: Readers;
  readonly #steps: Checked;
  #isChecked = false;

  constructor(readers: Readers, steps: Checked) {
    this.#readers = readers;
    this.#steps = steps;
  }

  agree<Step>(own: Promise<Step>): Promise<Step> {
    if (this.#isChecked) return own;
    this.#isChecked = true;
    return this.#readers.inOrder(async () => {
      const step = await own;
      await this.#check();
      return step;
    });
  }

  refuse(error: unknown): void {
    this.#readers.refuse(error);
  }

  close(): void {}

  /** @throws ValueError on all readers if the checksums differ */
  async #check(): Promise<void> {
    const { checksum = -1 } = this.#steps;
    const { max, what } = this.#readers;
    const [highest, lowest] = asTensor(await max(Float64Array.of(checksum, -checksum))).data;
    if (Number(highest) === -Number(lowest)) return;
    throw new ValueError(
      'ERR_COLL_VALUE',
      `${what}s read different first batches of one dataset, so samples are lost or read twice. Is the dataset shuffled without a seed? ` +
        'Pass a seed to the shuffle, shuffle(1000, seed); the seed may change with the epoch. Or shard the samples before you shuffle',
      { operation: 'input' },
    );
  }
}

/** A number from 0 to 2**32 - 1 that depends on every value of a batch. */
export async function checksumOf(batches: Structure<Batch>): Promise<number> {
  let hash = 0x811c9dc5;
  for (const batch of flatten(batches)) {
    const values = await valuesOf(batch.value);
    const bytes = ArrayBuffer.isView(values)
      ? new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
      : new TextEncoder().encode(
          JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
        );
    for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 0;
}

/** The numbers or strings of a batch. */
async function valuesOf(value: unknown): Promise<unknown> {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return value;
  const { data } = value as { readonly data?: unknown };
  // TensorFlow.js tensors are read by a method.
  if (typeof data === 'function') return data.call(value);
  return asTensor(value).data;
}

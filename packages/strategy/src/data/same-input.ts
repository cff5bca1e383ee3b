import { asTensor, type Structure, type TensorLike, ValueError } from '@coll/core';
import { flatten } from '@coll/core/internal';
import type { Batch } from './batch.js';

/** Returns the element-wise maxima of the numbers that the readers of a dataset pass. */
export type MaxOverReaders = (numbers: Float64Array) => Promise<TensorLike>;

/** The readers of the same dataset. */
export interface Readers {
  readonly max: MaxOverReaders;
  /** What the readers are called in error messages, such as `workers`. */
  readonly readers: string;
}

/**
 * Compares the checksum of the first batch of an epoch with the checksums of all other readers of
 * the same dataset.
 * @throws ValueError on all readers if the checksums differ
 */
export async function requireSameInput(
  { checksum = -1 }: { readonly checksum: number | undefined },
  { max, readers }: Readers,
): Promise<void> {
  const [highest, lowest] = asTensor(await max(Float64Array.of(checksum, -checksum))).data;
  if (Number(highest) === -Number(lowest)) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `${readers} read different first batches of one dataset, so samples are lost or read twice. Is the dataset shuffled without a seed? ` +
      'Pass a seed to the shuffle, shuffle(1000, seed); the seed may change with the epoch. Or shard the samples before you shuffle',
    { operation: 'input' },
  );
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

import { isSameCollective } from '../collectives/collective.js';
import { type Asked, bytesOfDescriptors, Descriptors, nowhere } from '../runtime/descriptors.js';
import type { CollError } from '../support/errors.js';

/**
 * The error of all ranks of a thread if their calls differ, the same as between threads; undefined
 * if they agree. `asked` is in rank order.
 */
export function disagreementOf(asked: readonly Asked[]): CollError | undefined {
  const [first] = asked as readonly [Asked];
  if (asked.every((one) => isSame(one, first))) return undefined;
  const descriptors = new Descriptors(new ArrayBuffer(bytesOfDescriptors(asked.length)), asked.length);
  for (const [rank, one] of asked.entries())
    descriptors.write(rank, { ...one, inputAt: nowhere, outputAt: nowhere, workAt: nowhere });
  return descriptors.mismatch();
}

function isSame(one: Asked, other: Asked): boolean {
  if (one === other) return true;
  return (
    isSameCollective(one.collective, other.collective) &&
    one.purpose === other.purpose &&
    one.dtype === other.dtype &&
    one.length === other.length &&
    one.schedule === other.schedule &&
    one.layout === other.layout
  );
}

import { vi } from 'vitest';
import type { ResolvedOptions } from '../src/call-options.js';
import { CrossDeviceOps } from '../src/cross-device-ops.js';
import type { Destinations } from '../src/destinations.js';
import type { DistributedValues } from '../src/distributed-values.js';
import type { ReduceOp } from '../src/reduce-op.js';
import type { PossiblyMirrored } from '../src/reducible.js';
import type { Value } from '../src/sparse/sparse.js';

type Reduce = (
  op: ReduceOp,
  value: DistributedValues<Value>,
  destinations: Destinations,
  call: ResolvedOptions,
) => Promise<PossiblyMirrored>;

/** Ops that keep what arrives at their implementation, and give the first component back. */
export class RecordingOps extends CrossDeviceOps {
  readonly name = 'recording';
  readonly reduced = vi.fn<Reduce>(async (_, value) => value.primary);

  protected reduceImplementation(...args: Parameters<Reduce>): Promise<PossiblyMirrored> {
    return this.reduced(...args);
  }

  remark(text: string): boolean {
    return this.note(text);
  }
}

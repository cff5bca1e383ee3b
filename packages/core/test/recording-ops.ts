import { vi } from 'vitest';
import type { ReduceOp } from '../src/collectives/reduce-op.js';
import { CrossDeviceOps } from '../src/ops/cross-device-ops.js';
import type { ResolvedOptions } from '../src/runtime/call-options.js';
import type { Destinations } from '../src/values/destinations.js';
import type { DistributedValues, PossiblyMirrored } from '../src/values/distributed-values.js';
import type { Value } from '../src/values/indexed-slices.js';

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

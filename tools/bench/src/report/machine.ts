import { availableParallelism, cpus } from 'node:os';
import { findCores } from '@coll/native/machine';

/** Where and when figures were taken. */
export interface Machine {
  readonly date: string;
  readonly node: string;
  /** The model, as it calls itself. */
  readonly cpu: string;
  /** Cores that this process may use. */
  readonly cpus: number;
  /** How many cores coll took the machine to have; absent if it found them itself. */
  readonly emulatedCores?: number;
}

export function thisMachine(): Machine {
  const { cores, limit } = findCores();
  return {
    date: new Date().toISOString(),
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cpus: availableParallelism(),
    ...(limit === 'COLL_CORES' ? { emulatedCores: cores } : {}),
  };
}

import { availableParallelism, cpus } from 'node:os';

/** Where and when figures were taken. */
export interface Machine {
  readonly date: string;
  readonly node: string;
  /** The model, as it calls itself. */
  readonly cpu: string;
  /** Cores that this process may use. */
  readonly cpus: number;
}

export function thisMachine(): Machine {
  return {
    date: new Date().toISOString(),
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cpus: availableParallelism(),
  };
}

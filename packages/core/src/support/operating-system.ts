import { environment } from './environment.js';

/** The parts of `node:os` that this package uses. */
interface OperatingSystem {
  hostname(): string;
  availableParallelism(): number;
}

/** The module `node:os`, which this package does not import; undefined in browsers. */
export function operatingSystem(): OperatingSystem | undefined {
  const { process: host } = globalThis as {
    readonly process?: { getBuiltinModule?(name: 'node:os'): OperatingSystem | undefined };
  };
  return host?.getBuiltinModule?.('node:os');
}

/** Cores that this process may use: those of `COLL_CORES`, or else of its affinity. */
export function availableCores(): number {
  const limit = Number(environment('COLL_CORES') || Number.POSITIVE_INFINITY);
  const { navigator } = globalThis as { readonly navigator?: { readonly hardwareConcurrency?: number } };
  const cores = operatingSystem()?.availableParallelism() ?? navigator?.hardwareConcurrency ?? 1;
  return limit >= 1 ? Math.min(limit, cores) : cores;
}

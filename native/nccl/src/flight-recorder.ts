import type { Counts, FlightEntry } from './nccl-binding.js';
import { probe, runtime } from './probe.js';

/**
 * The latest 1024 operations on the GPUs of this process, oldest first; empty without NCCL. They
 * include copies from and to the memory of GPUs, and when each operation was launched on its GPU. The
 * flight records, which `coll trace` reads, contain the collectives only, but outlive the process.
 *
 * @example
 * ```ts
 * import { flightRecorder, gpus } from '@coll/nccl';
 *
 * const [gpu] = gpus();
 * using buffer = await gpu?.upload(new Float32Array([1, 2]), 'float32');
 * const latest = flightRecorder().at(-1);
 * console.log(latest?.operation, latest?.state, buffer?.length); // write done 2
 * ```
 */
export function flightRecorder(): readonly FlightEntry[] {
  return probe().available ? runtime().binding.flightRecorder() : [];
}

/**
 * Registers a listener that is called, at most once, if native threads are still running after an
 * abort. From then on this process cannot use its GPUs: all calls fail, and the process must exit.
 * @throws CollError if there is no GPU or no NCCL
 *
 * @example
 * ```ts
 * import { onStuck } from '@coll/nccl';
 *
 * onStuck((message) => {
 *   console.error(message);
 *   process.exit(1);
 * });
 * ```
 */
export function onStuck(listener: (message: string) => void): void {
  runtime().binding.onStuck(listener);
}

/**
 * Counts the resources that this process holds on its GPUs, to find memory that was not disposed
 * of.
 * @throws CollError if there is no GPU or no NCCL
 *
 * @example
 * ```ts
 * import { counts, gpus } from '@coll/nccl';
 *
 * const [gpu] = gpus();
 * using buffer = gpu?.alloc('float32', 1024);
 * console.log(counts().buffers > 0, buffer?.length); // true 1024
 * ```
 */
export function counts(): Counts {
  return runtime().binding.counts();
}

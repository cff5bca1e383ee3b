import type { Counts, FlightEntry } from './nccl-binding.js';
import { probe, runtime } from './probe.js';

/** The latest 1024 operations of this process, oldest first; none where there is no NCCL. */
export function flightRecorder(): readonly FlightEntry[] {
  return probe().available ? runtime().binding.flightRecorder() : [];
}

/**
 * Has a function called, once, when NCCL does not come back from being aborted: no GPU of this process can be used any more, whatever is called fails, and the
 * process has to end, for example by `onStuck(() => process.exit(1))`. @throws CollError where there is no GPU, or no NCCL
 */
export function onStuck(listener: (message: string) => void): void {
  runtime().binding.onStuck(listener);
}

/** What this process holds on its GPUs: to find what was not disposed of. @throws CollError where there is no GPU, or no NCCL */
export function counts(): Counts {
  return runtime().binding.counts();
}

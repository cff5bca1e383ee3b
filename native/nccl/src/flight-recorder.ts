import type { Counts, FlightEntry } from './nccl-binding.js';
import { probe, runtime } from './probe.js';

/** The latest 1024 operations of this process, oldest first; none where there is no NCCL. */
export function flightRecorder(): readonly FlightEntry[] {
  return probe().available ? runtime().binding.flightRecorder() : [];
}

/** What this process holds on its GPUs: to find what was not disposed of. @throws CollError where there is no GPU, or no NCCL */
export function counts(): Counts {
  return runtime().binding.counts();
}

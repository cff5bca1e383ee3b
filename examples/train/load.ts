import os from 'node:os';
import { type CpuTime, foreignPart } from '@coll/native/machine';

// Less disturbs a speed-up by no more than the differences between two runs.
const tolerable = 0.1;

/** A warning if other programs kept the cores busy between two times, so that a speed-up says nothing. */
export function loadWarning(before: CpuTime, after: CpuTime, cores = os.availableParallelism()): string | undefined {
  const foreign = foreignPart(before, after);
  if (foreign <= tolerable) return undefined;
  const percent = Math.round(100 * foreign);
  return `other programs used ${percent} % of the ${cores} cores (load ${os.loadavg()[0]?.toFixed(0)}): the speed-up says nothing`;
}

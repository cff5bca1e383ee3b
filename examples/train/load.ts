import os from 'node:os';

/** CPU time in milliseconds. */
export interface CpuTime {
  /** Of all programs. */
  readonly busy: number;
  readonly idle: number;
  /** Of this program. */
  readonly own: number;
}

/** CPU time so far. */
export function cpuTime(): CpuTime {
  const times = os.cpus().map(({ times }) => times);
  const { user, system } = process.cpuUsage();
  return {
    busy: times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0),
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    own: (user + system) / 1000,
  };
}

// Less disturbs a speed-up by no more than the differences between two runs.
const tolerable = 0.1;

/** A warning if other programs kept the cores busy between two times, so that a speed-up says nothing. */
export function loadWarning(before: CpuTime, after: CpuTime, cores = os.availableParallelism()): string | undefined {
  const busy = after.busy - before.busy;
  const foreign = (busy - (after.own - before.own)) / (busy + after.idle - before.idle);
  if (!(foreign > tolerable)) return undefined;
  const percent = Math.round(100 * foreign);
  return `other programs used ${percent} % of the ${cores} cores (load ${os.loadavg()[0]?.toFixed(0)}): the speed-up says nothing`;
}

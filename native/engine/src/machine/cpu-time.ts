import os from 'node:os';

/** CPU time so far, in milliseconds. */
export interface CpuTime {
  /** Of all programs. */
  readonly busy: number;
  readonly idle: number;
  /** Of this process, with all its threads. */
  readonly own: number;
}

/**
 * The CPU time of this machine and of this process so far.
 *
 * @example
 * ```ts
 * import { cpuTime, foreignPart } from '@coll/native/machine';
 *
 * const before = cpuTime();
 * console.log(foreignPart(before, cpuTime()) <= 1); // true
 * ```
 */
export function cpuTime(): CpuTime {
  const times = os.cpus().map(({ times }) => times);
  const { user, system } = process.cpuUsage();
  return {
    busy: times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0),
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    own: (user + system) / 1000,
  };
}

/**
 * The part of all cores that other programs used between two times, from 0 to 1. Up to about 0.1, it disturbs a speed-up no more
 * than two runs differ.
 */
export function foreignPart(before: CpuTime, after: CpuTime): number {
  const busy = after.busy - before.busy;
  const all = busy + after.idle - before.idle;
  return all > 0 ? Math.max(0, (busy - (after.own - before.own)) / all) : 0;
}

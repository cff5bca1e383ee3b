import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * If other programs use more than this share of the machine, they disturb figures more than the measured
 * differences.
 */
export const tolerableLoad = 0.05;

const lookMillis = 400;

/** CPU time in ticks: of all cores, of all programs, and of this process with its descendants. */
interface Ticks {
  readonly all: number;
  readonly busy: number;
  readonly own: number;
}

/**
 * Starts to watch the load.
 * @returns a function that returns the share of the machine that other programs have used since, or
 * undefined if the system does not report it
 */
export function watchForeignLoad(): () => number | undefined {
  const before = ticks();
  return () => {
    const after = ticks();
    if (!before || !after || after.all <= before.all) return undefined;
    const foreign = after.busy - before.busy - (after.own - before.own);
    return Math.max(0, foreign / (after.all - before.all));
  };
}

/** Waits until the machine is quiet, at most `limitSeconds`. @returns false if it never was */
export async function untilQuiet(limitSeconds: number): Promise<boolean> {
  for (const end = performance.now() + limitSeconds * 1000; performance.now() < end; ) {
    const foreignLoad = watchForeignLoad();
    await sleep(lookMillis);
    if ((foreignLoad() ?? 0) <= tolerableLoad) return true;
  }
  return limitSeconds === 0;
}

function ticks(): Ticks | undefined {
  try {
    const [user, nice, system, ...rest] = fieldsOf(readFileSync('/proc/stat', 'utf8').split('\n')[0] as string).slice(
      1,
    );
    const [idle, wait] = rest as [number, number];
    const busy = (user as number) + (nice as number) + (system as number);
    return { all: busy + idle + wait, busy, own: ticksOfFamily(process.pid) };
  } catch {
    // Only Linux has these files.
    return undefined;
  }
}

/** A running process. */
export interface Running {
  readonly pid: number;
  readonly parent: number;
  /** Its start time in ticks, which distinguishes it from a later process with the same number. */
  readonly started: number;
  /** Its own CPU time, and the time of the ended children that it has waited for. */
  readonly ticks: number;
}

/**
 * The CPU time of a process and its descendants in ticks, of which Linux has 100 per second. Ranks live
 * from round to round.
 */
export function ticksOfFamily(eldest: number): number {
  return familyOf(eldest).reduce((sum, { ticks }) => sum + ticks, 0);
}

/** A process and its descendants; empty if the system does not list processes. */
export function familyOf(eldest: number): Running[] {
  if (!existsSync('/proc/stat')) return [];
  const all = readdirSync('/proc').flatMap((name) => running(Number(name)) ?? []);
  const family = all.filter(({ pid }) => pid === eldest);
  for (const { pid } of family) family.push(...all.filter(({ parent }) => parent === pid));
  return family;
}

/** Whether the process is still running. */
export function isRunning({ pid, started }: Running): boolean {
  return running(pid)?.started === started;
}

function running(pid: number): Running | undefined {
  if (Number.isNaN(pid)) return undefined;
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program name may contain any character, and ends with the last parenthesis.
    const fields = fieldsOf(status.slice(status.lastIndexOf(')') + 1));
    const ticks = fields.slice(12, 16).reduce((sum, time) => sum + time, 0);
    return { pid, parent: fields[2] as number, started: fields[20] as number, ticks };
  } catch {
    // The process has ended.
    return undefined;
  }
}

function fieldsOf(line: string): number[] {
  return line.split(/\s+/).map(Number);
}

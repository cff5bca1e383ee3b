import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Above this share, other programs disturb figures more than what is measured differs. */
export const tolerableLoad = 0.05;

const lookMillis = 400;

/** CPU time in ticks of the system: of all cores, of all programs on them, and of this process and all that come from it. */
interface Ticks {
  readonly all: number;
  readonly busy: number;
  readonly own: number;
}

/** The share of the machine that other programs take from now until the result is called; undefined where the system does not tell. */
export function watchForeignLoad(): () => number | undefined {
  const before = ticks();
  return () => {
    const after = ticks();
    if (!before || !after || after.all <= before.all) return undefined;
    const foreign = after.busy - before.busy - (after.own - before.own);
    return Math.max(0, foreign / (after.all - before.all));
  };
}

/** Waits for the machine to be quiet, but no longer than that; false where it never was. */
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
    // Not a Linux.
    return undefined;
  }
}

/** A process as it was found. */
export interface Running {
  readonly pid: number;
  readonly parent: number;
  /** When it was started, in ticks: tells it from a later process of the same number. */
  readonly started: number;
  /** Its own, and of children that it waited for. */
  readonly ticks: number;
}

/** CPU time in ticks, of which Linux has a hundred a second, of a process and all that come from it: ranks live from round to round. */
export function ticksOfFamily(eldest: number): number {
  return familyOf(eldest).reduce((sum, { ticks }) => sum + ticks, 0);
}

/** A process and all that come from it; nothing where the system does not tell. */
export function familyOf(eldest: number): Running[] {
  if (!existsSync('/proc/stat')) return [];
  const all = readdirSync('/proc').flatMap((name) => running(Number(name)) ?? []);
  const family = all.filter(({ pid }) => pid === eldest);
  for (const { pid } of family) family.push(...all.filter(({ parent }) => parent === pid));
  return family;
}

/** Whether it has not ended. */
export function isRunning({ pid, started }: Running): boolean {
  return running(pid)?.started === started;
}

function running(pid: number): Running | undefined {
  if (Number.isNaN(pid)) return undefined;
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, which may hold anything, ends with the last parenthesis.
    const fields = fieldsOf(status.slice(status.lastIndexOf(')') + 1));
    const ticks = fields.slice(12, 16).reduce((sum, time) => sum + time, 0);
    return { pid, parent: fields[2] as number, started: fields[20] as number, ticks };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

function fieldsOf(line: string): number[] {
  return line.split(/\s+/).map(Number);
}

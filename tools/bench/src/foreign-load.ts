import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Above this share, other programs disturb figures more than what is measured differs. */
export const tolerableLoad = 0.05;

const lookMillis = 400;

/** CPU time in ticks of the system: of all cores, of all programs on them, and of this process and the children it waited for. */
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
    // The name of the program, which may hold anything, ends with the last parenthesis; 11 fields follow before the times.
    const status = readFileSync('/proc/self/stat', 'utf8');
    const times = fieldsOf(status.slice(status.lastIndexOf(')') + 1)).slice(12, 16);
    return { all: busy + idle + wait, busy, own: times.reduce((sum, time) => sum + time, 0) };
  } catch {
    // Not a Linux.
    return undefined;
  }
}

function fieldsOf(line: string): number[] {
  return line.split(/\s+/).map(Number);
}

import { readdirSync, readFileSync } from 'node:fs';

/** What Linux tells of a process. */
export interface ProcessStat {
  readonly pid: number;
  /** Up to 15 letters of what it is called, or calls itself. */
  readonly name: string;
  /** A letter: `Z` for a zombie, which has ended. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  /** In clock ticks since the system started: another process of the same number has another. */
  readonly startedAt: number;
}

/** Undefined for a process that is gone, and where it is not Linux. */
export function processStat(pid: number | 'self'): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // A name may have any letters in it, brackets too.
    const [begin, end] = [text.indexOf('('), text.lastIndexOf(')')];
    const [state = '', parent, group, ...others] = text.slice(end + 2).split(' ');
    const name = text.slice(begin + 1, end);
    return {
      pid: Number.parseInt(text, 10),
      name,
      state,
      parent: Number(parent),
      group: Number(group),
      startedAt: Number(others[16]),
    };
  } catch {
    return undefined;
  }
}

/** The groups that have more than zombies in them. Undefined where the system does not tell, or tells of another namespace. */
export function runningGroups(): ReadonlySet<number> | undefined {
  if (processStat('self')?.pid !== process.pid) return undefined;
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return new Set(pids.flatMap((pid) => groupOfRunning(processStat(pid))));
}

function groupOfRunning(stat: ProcessStat | undefined): readonly number[] {
  return stat && stat.state !== 'Z' ? [stat.group] : [];
}

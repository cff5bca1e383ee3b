import { readdirSync, readFileSync } from 'node:fs';

/** A process as described by Linux in `/proc/<pid>/stat`. */
export interface ProcessStat {
  readonly pid: number;
  /** The first 15 bytes of the process's name, which the process itself may have changed. */
  readonly name: string;
  /** One letter, such as `Z` for a zombie: a process that has ended but still has an entry. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  /**
   * The start time in clock ticks since the system booted; distinguishes processes that reuse a
   * pid.
   */
  readonly startedAt: number;
}

/** Reads the state of a process. Undefined if the process does not exist, and outside of Linux. */
export function processStat(pid: number | 'self'): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // A name may contain any characters, including parentheses.
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

/**
 * The ids of all process groups with at least one process that is not a zombie. Undefined outside
 * of Linux, or if `/proc` belongs to another pid namespace.
 */
export function runningGroups(): ReadonlySet<number> | undefined {
  if (processStat('self')?.pid !== process.pid) return undefined;
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return new Set(pids.flatMap((pid) => groupOfRunning(processStat(pid))));
}

function groupOfRunning(stat: ProcessStat | undefined): readonly number[] {
  return stat && stat.state !== 'Z' ? [stat.group] : [];
}

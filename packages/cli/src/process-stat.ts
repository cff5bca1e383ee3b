import { readFileSync } from 'node:fs';

/** What Linux tells of a process. */
export interface ProcessStat {
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
export function processStat(pid: number | string): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // A name may have any letters in it, brackets too.
    const [begin, end] = [text.indexOf('('), text.lastIndexOf(')')];
    const [state = '', parent, group, ...others] = text.slice(end + 2).split(' ');
    const name = text.slice(begin + 1, end);
    return { name, state, parent: Number(parent), group: Number(group), startedAt: Number(others[16]) };
  } catch {
    return undefined;
  }
}

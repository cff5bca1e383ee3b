import { lastSignOf } from './condition.js';
import type { ThreadRecord } from './record-file.js';

/** Threads that belong together: they have a process, a job or a group in common. */
export interface Job {
  readonly records: readonly ThreadRecord[];
  /** When its latest group was opened, or else its first thread begun, in milliseconds since 1970. */
  readonly begun: number;
}

/** Divides records into jobs, newest first. */
export function jobsOf(records: readonly ThreadRecord[]): readonly Job[] {
  const names = new Map<string, number>();
  const above = records.map((_, index) => index);
  const rootOf = (index: number): number => {
    let root = index;
    while (above[root] !== root) root = above[root] as number;
    above[index] = root;
    return root;
  };
  for (const [index, record] of records.entries())
    for (const name of namesOf(record)) {
      const other = names.get(name);
      if (other === undefined) names.set(name, index);
      else above[rootOf(index)] = rootOf(other);
    }
  const jobs = new Map<number, ThreadRecord[]>();
  for (const [index, record] of records.entries()) {
    const root = rootOf(index);
    jobs.set(root, [...(jobs.get(root) ?? []), record]);
  }
  return [...jobs.values()].map(latestRun).sort((a, b) => b.begun - a.begun);
}

/** The job with this pid, with this value of `COLL_JOB`, or with a group whose id begins with `name`. */
export function findJob(jobs: readonly Job[], name: string): Job | undefined {
  const matches: readonly ((record: ThreadRecord) => boolean)[] = [
    ({ job }) => job === name,
    ({ pid }) => String(pid) === name,
    ({ parts }) => parts.some(({ group }) => group.startsWith(name)),
  ];
  for (const match of matches) {
    const found = jobs.find((job) => job.records.some(match));
    if (found) return found;
  }
  return undefined;
}

function namesOf({ process, host, pid, job, parts }: ThreadRecord): readonly string[] {
  const names = new Set([`process ${process || `${host} ${pid}`}`]);
  if (job !== '') names.add(`job ${job}`);
  for (const { group, parent } of parts) {
    if (group !== '') names.add(`group ${group}`);
    if (parent !== '') names.add(`group ${parent}`);
  }
  return [...names];
}

/** The records of a job without those of earlier runs of the same name, which have ended before the latest group was opened. */
function latestRun(records: readonly ThreadRecord[]): Job {
  const opened = new Map<string, number>();
  for (const record of records)
    for (const { group, opened: at, parent } of record.parts)
      if (parent === '') opened.set(group, Math.min(opened.get(group) ?? Number.POSITIVE_INFINITY, wallOf(record, at)));
  if (opened.size === 0) return { records, begun: Math.max(...records.map(({ begunWall }) => begunWall)) };
  const begun = Math.max(...opened.values());
  // Clocks of hosts differ.
  const kept = records.filter((record) => wallOf(record, lastSignOf(record)) > begun - 1000);
  return { records: kept, begun };
}

/** A time of a record as milliseconds since 1970. */
export function wallOf({ begun, begunWall }: ThreadRecord, time: number): number {
  return begunWall + (time - begun) / 1000;
}

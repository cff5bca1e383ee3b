import { lstatSync } from 'node:fs';
import { recordFolder } from '@coll/native/record';
import { findJob, type Job, jobsOf } from './jobs.js';
import { readRecords, type Unread } from './read-files.js';
import type { ThreadRecord } from './record-file.js';

/** The records of one job. */
export interface Selection {
  readonly records: readonly ThreadRecord[];
  readonly unread: readonly Unread[];
  /** Other jobs with records in the same folders, newest first. */
  readonly others: readonly Job[];
  /** Why there are no records; undefined if there are. */
  readonly refusal?: string;
}

/**
 * Reads the records that the arguments of a command name: files, folders, or a job in the folder of this
 * user. The default is the newest job there.
 */
export function selectRecords(targets: readonly string[], mostCalls?: number): Selection {
  const [first] = targets;
  const name = targets.length === 1 && first !== undefined && !isPath(first) ? first : undefined;
  const folder = targets.length === 0 || name !== undefined ? recordFolder({ mayCreate: false }) : undefined;
  if (folder && !('path' in folder))
    return { records: [], unread: [], others: [], refusal: `no records: ${folder.refusal}` };
  const paths = folder ? [folder.path] : targets;
  const { records, unread } = readRecords(paths, mostCalls);
  if (records.length === 0) return { records, unread, others: [], refusal: `no records in ${paths.join(', ')}` };
  if (targets.length > 0 && targets.every(isFile)) return { records, unread, others: [] };
  const jobs = jobsOf(records);
  const job = name === undefined ? jobs[0] : findJob(jobs, name);
  const others = jobs.filter((other) => other !== job);
  if (!job) return { records: [], unread, others, refusal: unknownJob(name as string, paths, jobs) };
  return { records: job.records, unread, others };
}

function unknownJob(name: string, paths: readonly string[], jobs: readonly Job[]): string {
  const known = jobs.slice(0, 8).map(({ records: [record] }) => record?.job || String(record?.pid));
  return `no job, pid or group in ${paths.join(', ')} is called "${name}"; there are ${known.join(', ')}`;
}

function isPath(target: string): boolean {
  return target.includes('/') || target.endsWith('.coll') || statsOf(target) !== undefined;
}

function isFile(target: string): boolean {
  return statsOf(target)?.isDirectory() === false;
}

function statsOf(target: string) {
  return lstatSync(target, { throwIfNoEntry: false });
}

import {
  hasEndedWell,
  jobOf,
  markClosed,
  markEnded,
  removeRecords,
  type StoredRecord,
  storedRecords,
} from './stored-record.js';

/** The records of processes that have crashed are kept as long and as many. */
export const keptRecords = { millis: 7 * 24 * 3600 * 1000, bytes: 64 * 1024 * 1024 };

export interface CleaningOptions {
  /** Milliseconds since 1970. Default: now */
  readonly now?: number;
  /** Whether a process runs. Default: asks the system */
  readonly isRunning?: (pid: number) => boolean;
}

/**
 * Removes records of processes that no longer run: those of jobs that have ended well, and those that
 * are old or too many, the oldest ones first.
 */
export function cleanRecords(folder: string, { now = Date.now(), isRunning = runs }: CleaningOptions = {}): void {
  const all = storedRecords(folder);
  const dead = all.filter(({ pid }) => !isRunning(pid)).sort((a, b) => b.lastSeen - a.lastSeen);
  let bytes = 0;
  const isKept = (record: StoredRecord) => {
    bytes += record.bytes;
    return bytes <= keptRecords.bytes && now - record.lastSeen <= keptRecords.millis;
  };
  const hasJobEndedWell = (record: StoredRecord) => hasEndedWell(record) && jobOf([record], all).every(hasEndedWell);
  removeRecords(dead.filter((record) => hasJobEndedWell(record) || !isKept(record)));
}

/** Marks the threads of a process that ends as ended, because some were not asked. */
export function endThreads(folder: string, process: string): void {
  for (const record of storedRecords(folder)) {
    if (record.process === process && record.end === 'open') markClosed(record);
  }
}

/** Removes the records of a process and of the others of its job, if all of them have ended well. */
export function removeEndedJob(folder: string, process: string): void {
  const all = storedRecords(folder);
  const job = jobOf(
    all.filter((record) => record.process === process),
    all,
  );
  if (job.every(hasEndedWell)) removeRecords(job);
}

/** Removes the records of all processes with this job, for a launcher whose run has ended well. */
export function removeRecordsOf(folder: string, job: string): void {
  removeRecords(storedRecords(folder).filter((record) => record.job === job));
}

/** A process that has ended, as its launcher has seen it. */
export interface EndedProcess {
  readonly job: string;
  readonly pid: number;
  /** As a shell reports it: 128 + the number of a signal. */
  readonly exitCode: number;
}

/**
 * Notes in the records of a process how it has ended, for a launcher that now ends the other processes
 * of the job: some of them may not have noticed yet.
 */
export function recordEnd(folder: string, { job, pid, exitCode }: EndedProcess): void {
  for (const record of storedRecords(folder)) if (record.job === job && record.pid === pid) markEnded(record, exitCode);
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

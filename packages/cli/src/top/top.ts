import { setTimeout as after } from 'node:timers/promises';
import type { TopRequest } from '../arguments.js';
import { endWithReader } from '../closed-output.js';
import { tell } from '../report.js';
import { monotonicMicros } from '../trace/read-files.js';
import type { ThreadRecord } from '../trace/record-file.js';
import { selectRecords } from '../trace/select-records.js';
import { type Reading, type Snapshot, snapshotOf } from './snapshot.js';
import { linesOf } from './view.js';

const refreshMillis = 1000;
/** Rates need the calls of a second, not all that records contain. */
const mostCalls = 2048;

/**
 * Shows a running job in the terminal, each second anew, until it ends. Returns the exit code.
 */
export async function top({ job, isOnce, isJson }: TopRequest): Promise<number> {
  endWithReader();
  const targets = job === undefined ? [] : [job];
  const first = selectRecords(targets, mostCalls);
  if (first.refusal !== undefined) {
    for (const { file, reason } of first.unread) tell(`${file}: ${reason}`);
    tell(first.refusal);
    return 1;
  }
  let before: Reading | undefined = { at: monotonicMicros(), records: first.records };
  if (!isOnce) show(snapshotOf(before, undefined), isJson);
  for (;;) {
    await after(refreshMillis);
    const now: Reading = { at: monotonicMicros(), records: again(targets, before.records) };
    if (now.records.length === 0) {
      tell('the records of the job have been removed: it has ended well');
      return 0;
    }
    const snapshot = snapshotOf(now, before);
    show(snapshot, isJson);
    if (isOnce || !snapshot.isRunning) return 0;
    before = now;
  }
}

/** The records of the same job as before: ranks come and go, and newer jobs begin. */
function again(targets: readonly string[], before: readonly ThreadRecord[]): readonly ThreadRecord[] {
  if (targets.length > 0) return selectRecords(targets, mostCalls).records;
  const names = new Set(before.map(({ process }) => process));
  const { records, others } = selectRecords(targets, mostCalls);
  const jobs = [records, ...others.map((other) => other.records)];
  return jobs.find((ofJob) => ofJob.some(({ process }) => names.has(process))) ?? [];
}

function show(snapshot: Snapshot, isJson: boolean): void {
  const { stdout } = process;
  if (isJson) stdout.write(`${JSON.stringify(snapshot)}\n`);
  else if (stdout.isTTY) {
    const { columns, rows } = stdout;
    const lines = linesOf(snapshot, { columns, rows });
    // Each line replaces the one before it, so that nothing flickers.
    stdout.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\n')}\u001b[J`);
  } else stdout.write(`${linesOf(snapshot).join('\n')}\n\n`);
}

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { processStat } from '../process-stat.js';
import type { HostClock } from './clocks.js';
import { lastSignOf } from './condition.js';
import type { ProcessState, SeenRecord } from './group-records.js';
import type { ThreadRecord } from './record-file.js';

/** The machine that reads records. */
export interface Observer {
  readonly host: string;
  /** What is known about the process that has made a record of this host. */
  processState(record: ThreadRecord): ProcessState;
}

/** More than clocks within a host differ, in microseconds. */
const skew = 1e6;

/** Adds to records what is known from outside. */
export function observe(
  records: readonly ThreadRecord[],
  clocks: ReadonlyMap<string, HostClock>,
  observer: Observer = thisMachine(),
): readonly SeenRecord[] {
  const states = new Map(records.map((record) => [record, stateOf(record, observer)]));
  const until = new Map<string, number>();
  for (const record of records) {
    const seen = isHere(states.get(record)) ? record.readAt : lastSignOf(record);
    until.set(record.host, Math.max(until.get(record.host) ?? 0, seen));
  }
  return records.map((record) => {
    const offset = clocks.get(record.host)?.offset ?? 0;
    const process = states.get(record) as ProcessState;
    // Records of running threads are read one after the other.
    const seen = isHere(process) ? Math.max(record.readAt, record.alive) : (until.get(record.host) as number);
    return { record, process, offset, seenUntil: seen + offset };
  });
}

function isHere(state: ProcessState | undefined): boolean {
  return state === 'running' || state === 'stopped';
}

function stateOf(record: ThreadRecord, observer: Observer): ProcessState {
  if (record.host !== observer.host) return 'unknown';
  // A later time than now: the host has been started anew.
  return record.begun > record.readAt + skew ? 'gone' : observer.processState(record);
}

/** The machine of this process. */
function thisMachine(): Observer {
  return { host: hostname(), processState };
}

function processState({ pid, begun, readAt }: ThreadRecord): ProcessState {
  if (process.platform !== 'linux') return 'unknown';
  const stat = processStat(pid);
  if (!stat || stat.state === 'Z' || stat.state === 'X') return 'gone';
  const uptime = Number.parseFloat(readFileSync('/proc/uptime', 'latin1'));
  // Linux counts the start in hundredths of a second. Another process may have got the number.
  const age = 1e6 * (uptime - stat.startedAt / 100);
  if (age < readAt - begun - 1e6) return 'gone';
  return stat.state === 'T' || stat.state === 't' ? 'stopped' : 'running';
}

import { closeSync, openSync, writeFileSync } from 'node:fs';
import { ValueError } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import type { TraceRequest } from '../arguments.js';
import { endWithReader } from '../closed-output.js';
import { tell } from '../report.js';
import { secondsText } from './call-text.js';
import { alignClocks, type HostClock } from './clocks.js';
import { findVerdict } from './find-verdict.js';
import type { SeenRecord } from './group-records.js';
import { namingOf } from './naming.js';
import { observe } from './observe.js';
import { summarize, tableOf } from './rank-table.js';
import { type Selection, selectRecords } from './select-records.js';
import { timelineOf } from './timeline.js';
import { waitGraph } from './wait-graph.js';

/**
 * Prints what has happened in a job, from the records of its threads, and writes their calls as a
 * timeline. Returns the exit code.
 * @throws ValueError if the timeline cannot be written
 */
export function trace({ targets, out, isJson, lastCalls }: TraceRequest): number {
  endWithReader();
  const selection = selectRecords(targets, lastCalls);
  if (!isJson) for (const { file, reason } of selection.unread) tell(`${file}: ${reason}`);
  if (selection.refusal !== undefined) {
    tell(selection.refusal);
    return 1;
  }
  const clocks = alignClocks(selection.records);
  const seen = observe(selection.records, clocks);
  if (out !== undefined) writeTimeline(out, seen);
  process.stdout.write(`${isJson ? jsonOf(seen, clocks, selection) : textOf(seen, clocks, selection)}\n`);
  return 0;
}

function jsonOf(seen: readonly SeenRecord[], clocks: ReadonlyMap<string, HostClock>, { unread }: Selection): string {
  const { verdict, ranks } = analysed(seen);
  const hosts = [...clocks.values()].map(({ host, offset, error }) => ({
    host,
    offsetMicros: offset,
    errorMicros: error,
  }));
  return JSON.stringify({ verdict, ranks, clocks: hosts, unread }, undefined, 2);
}

function textOf(seen: readonly SeenRecord[], clocks: ReadonlyMap<string, HostClock>, selection: Selection): string {
  const { verdict, ranks } = analysed(seen);
  return [verdict.sentence, '', tableOf(ranks), ...notesOf(seen, clocks, selection)].join('\n');
}

function analysed(seen: readonly SeenRecord[]) {
  const graph = waitGraph(seen);
  return { verdict: findVerdict(seen, graph), ranks: summarize(graph, namingOf(graph)) };
}

function notesOf(
  seen: readonly SeenRecord[],
  clocks: ReadonlyMap<string, HostClock>,
  { others }: Selection,
): readonly string[] {
  const [reference, ...compared] = clocks.values();
  const ofClocks = compared.map(({ host, error }) => {
    const between = `the clocks of ${reference?.host} and ${host}`;
    return error === undefined
      ? `${between} were compared by their wall clocks, whose error is unknown`
      : `${between} agree within ${secondsText(error / 1e6)}`;
  });
  const overwritten = seen.filter(({ record }) => record.callsMade > record.calls.length).length;
  const ofCalls = overwritten > 0 ? ['bytes and times are those of the latest calls that the records contain'] : [];
  const ofOthers = others.length > 0 ? [`this is one of ${others.length + 1} jobs; others: ${named(others)}`] : [];
  const notes = [...ofClocks, ...ofCalls, ...ofOthers];
  return notes.length > 0 ? ['', ...notes.map((note) => `note: ${note}`)] : [];
}

function named(jobs: Selection['others']): string {
  const names = jobs.slice(0, 4).map(({ records: [record] }) => record?.job || String(record?.pid));
  return [...names, ...(jobs.length > names.length ? ['…'] : [])].join(', ');
}

function writeTimeline(out: string, seen: readonly SeenRecord[]): void {
  if (out.endsWith('.coll')) throw new ValueError('ERR_COLL_VALUE', `--out must not be a record, got ${out}`);
  try {
    const file = openSync(out, 'w');
    try {
      let lines = '{"displayTimeUnit":"ms","traceEvents":[\n';
      let separator = '';
      for (const event of timelineOf(seen)) {
        lines += `${separator}${JSON.stringify(event)}`;
        separator = ',\n';
        if (lines.length > 2 ** 16) {
          writeFileSync(file, lines);
          lines = '';
        }
      }
      writeFileSync(file, `${lines}\n]}\n`);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new ValueError('ERR_COLL_VALUE', `--out ${out} cannot be written: ${messageOf(error)}`);
  }
}

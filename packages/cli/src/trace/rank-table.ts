import { count, percent } from '../try-verdict.js';
import { bytesText, secondsText } from './call-text.js';
import { covered, lastBegins, maximum, waitOf } from './call-times.js';
import { isPending } from './group-records.js';
import type { Naming } from './naming.js';
import type { WaitGraph } from './wait-graph.js';

/** What the recorded calls of one thread took. Times in seconds. */
export interface RankSummary {
  /** Undefined for a thread without a rank in the main group. */
  readonly rank: number | undefined;
  readonly host: string;
  readonly pid: number;
  readonly thread: number;
  readonly calls: number;
  /** Bytes of the recorded calls, which are the latest ones. */
  readonly bytes: number;
  /** The time in recorded calls; calls at the same time count once. */
  readonly seconds: number;
  /** The part of it that the rank waited for others. */
  readonly waiting: number;
  /** The part of the recorded time that the rank was in calls, from 0 to 1. */
  readonly exchange: number;
  /** Bytes per second in calls, without waiting; undefined if no call took time. */
  readonly bandwidth: number | undefined;
}

/** Summarizes all threads that have made calls or have a rank, in the order of their ranks. */
export function summarize({ nodes, groups }: WaitGraph, naming: Naming): readonly RankSummary[] {
  const lasts = lastBegins(groups);
  const rows = nodes.map((node): RankSummary => {
    const { record } = node.seen;
    const calls = node.members.flatMap((member) => [...member.calls.values(), ...member.messages]);
    const ended = calls.filter((call) => !isPending(call) && call.begun > 0 && call.ended > 0);
    const bytes = ended.reduce((sum, call) => sum + call.bytes, 0);
    const micros = covered(ended);
    const waited = Math.min(
      micros,
      ended.reduce((sum, call) => sum + waitOf(call, node, lasts), 0),
    );
    const begins = ended.map(({ begun }) => begun);
    const span = Math.max(0, maximum(ended.map((call) => call.ended)) - Math.min(...begins));
    const moving = micros - waited;
    const [rank] = naming.ranks([node]);
    return {
      ...{ rank, host: record.host, pid: record.pid, thread: record.thread, calls: record.callsMade, bytes },
      ...{ seconds: micros / 1e6, waiting: waited / 1e6, exchange: span > 0 ? micros / span : 0 },
      bandwidth: moving > 0 && bytes > 0 ? (1e6 * bytes) / moving : undefined,
    };
  });
  return rows.sort((a, b) => (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY));
}

/** A table with one line for each thread. */
export function tableOf(rows: readonly RankSummary[]): string {
  const places = new Set(rows.map(({ host }) => host)).size > 1;
  const columns: readonly (readonly [title: string, text: (row: RankSummary) => string])[] = [
    ['rank', ({ rank }) => (rank === undefined ? '–' : String(rank))],
    ...(places ? ([['host', ({ host }: RankSummary) => host]] as const) : []),
    ['pid', ({ pid, thread }) => (thread === 0 ? String(pid) : `${pid}/${thread}`)],
    ['calls', ({ calls }) => count(calls)],
    ['bytes', ({ bytes }) => bytesText(bytes)],
    ['in calls', ({ seconds }) => secondsText(seconds)],
    ['waiting', ({ waiting }) => secondsText(waiting)],
    ['exchange', ({ exchange }) => percent(exchange)],
    ['bandwidth', ({ bandwidth }) => (bandwidth === undefined ? '–' : `${bytesText(bandwidth)}/s`)],
  ];
  return aligned([columns.map(([title]) => title), ...rows.map((row) => columns.map(([, text]) => text(row)))]);
}

/** Lines of cells as text with columns of equal width. */
export function aligned(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => maximum(lines.map((line) => (line[column] as string).length)));
  return lines
    .map((line) => line.map((cell, column) => cell.padStart(widths[column] as number)).join('   '))
    .join('\n');
}

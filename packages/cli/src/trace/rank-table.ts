import { count, percent } from '../try-verdict.js';
import { bytesText, secondsText } from './call-text.js';
import { isPending, type Node } from './group-records.js';
import type { Naming } from './naming.js';
import type { Call } from './record-file.js';
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
function aligned(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => maximum(lines.map((line) => (line[column] as string).length)));
  return lines
    .map((line) => line.map((cell, column) => cell.padStart(widths[column] as number)).join('   '))
    .join('\n');
}

type Begins = ReadonlyMap<string, number>;

/** For each collective that all ranks have made, when the last of them began it, in common time. */
function lastBegins(groups: WaitGraph['groups']): Begins {
  const lasts = new Map<string, number>();
  for (const { id, members, missing } of groups.values()) {
    const [first, ...others] = members.values();
    if (!first || missing.length > 0 || members.has(-1)) continue;
    for (const [number, call] of first.calls) {
      const calls = [{ call, offset: first.node.seen.offset }];
      for (const { calls: theirs, node } of others) {
        const other = theirs.get(number);
        if (other) calls.push({ call: other, offset: node.seen.offset });
      }
      if (calls.length === members.size && calls.every((one) => one.call.begun > 0))
        lasts.set(`${number} ${id}`, maximum(calls.map((one) => one.call.begun + one.offset)));
    }
  }
  return lasts;
}

/** Microseconds that a call waited for other ranks: what the engine has measured, or else until the last rank began it. */
function waitOf(call: Call, { seen: { offset } }: Node, lasts: Begins): number {
  if (call.waited > 0) return Math.min(call.waited, call.ended - call.begun);
  const last = lasts.get(`${call.number} ${call.part.group}`);
  if (last === undefined || call.verb === 'send' || call.verb === 'receive') return 0;
  return Math.max(0, Math.min(last - offset, call.ended) - call.begun);
}

/** Microseconds during which at least one of the calls was under way. */
function covered(calls: readonly Call[]): number {
  let [sum, until] = [0, 0];
  for (const { begun, ended } of [...calls].sort((a, b) => a.begun - b.begun)) {
    sum += Math.max(0, ended - Math.max(begun, until));
    until = Math.max(until, ended);
  }
  return sum;
}

function maximum(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

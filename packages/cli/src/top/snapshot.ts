import { callName, secondsText } from '../trace/call-text.js';
import { covered, type LastBegins, lastBegins, waitOf } from '../trace/call-times.js';
import { alignClocks } from '../trace/clocks.js';
import type { Condition } from '../trace/condition.js';
import { findVerdict } from '../trace/find-verdict.js';
import { isPending, type Node, type SeenRecord } from '../trace/group-records.js';
import { wallOf } from '../trace/jobs.js';
import { type Naming, namingOf } from '../trace/naming.js';
import { observe } from '../trace/observe.js';
import type { Call, ThreadRecord } from '../trace/record-file.js';
import type { Verdict } from '../trace/verdict.js';
import { type WaitGraph, waitGraph } from '../trace/wait-graph.js';

/** The records of a job, as they were read at one moment. */
export interface Reading {
  /** Microseconds of the monotonic clock. */
  readonly at: number;
  readonly records: readonly ThreadRecord[];
}

/** One thread of a running job. Rates are those between two readings; undefined if they are not known. */
export interface RankState {
  readonly rank: number | undefined;
  readonly host: string;
  readonly pid: number;
  readonly thread: number;
  /** What the thread does, such as `runs` or `waits for rank 3 in all-reduce 812 (41 s)`. */
  readonly state: string;
  readonly callsPerSecond: number | undefined;
  readonly bytesPerSecond: number | undefined;
  /** Parts of the time, from 0 to 1. */
  readonly exchange: number | undefined;
  readonly waiting: number | undefined;
  readonly stepsPerSecond: number | undefined;
  readonly samplesPerSecond: number | undefined;
  /** CPU time of the thread per second. */
  readonly cpu: number | undefined;
  /** Of its process. */
  readonly residentBytes: number;
}

export interface Snapshot {
  readonly job: string;
  readonly hosts: number;
  /** Number of ranks of the group. */
  readonly size: number;
  /** Whether a process of the job runs. */
  readonly isRunning: boolean;
  readonly ranks: readonly RankState[];
  readonly verdict: Verdict;
  readonly warnings: readonly Warning[];
}

export interface Warning {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly rank: number | undefined;
  readonly kind: string;
  readonly text: string;
}

/** Compares two readings of a job. Without the first, there are no rates. */
export function snapshotOf(now: Reading, before: Reading | undefined): Snapshot {
  const seen = observe(now.records, alignClocks(now.records));
  const graph = waitGraph(seen);
  const { groups, nodes } = graph;
  const naming = namingOf(graph);
  const lasts = lastBegins(groups);
  const earlier = new Map((before?.records ?? []).map((record) => [keyOf(record), record]));
  const ranks = nodes.map((node) => {
    const record = earlier.get(keyOf(node.seen.record));
    const span = before && record && { record, micros: now.at - before.at };
    return { ...rankState(node, graph, naming), ...ratesOf(node, span, lasts) };
  });
  ranks.sort((a, b) => (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY));
  const [first] = now.records;
  return {
    job: first?.job || String(first?.pid ?? ''),
    hosts: naming.hosts,
    size: naming.main?.size ?? ranks.length,
    isRunning: seen.some(isAlive),
    ranks,
    verdict: findVerdict(seen, graph),
    warnings: warningsOf(nodes, naming),
  };
}

function isAlive({ process, record }: SeenRecord): boolean {
  return process === 'running' || process === 'stopped' || (process === 'unknown' && record.end === 'open');
}

function keyOf({ process, host, pid, thread }: ThreadRecord): string {
  return `${process} ${host} ${pid} ${thread}`;
}

function rankState(node: Node, graph: WaitGraph, naming: Naming) {
  const { host, pid, thread, residentBytes } = node.seen.record;
  const [rank] = naming.ranks([node]);
  return { rank, host, pid, thread, residentBytes, state: stateOf(node, graph, naming) };
}

function stateOf(node: Node, graph: WaitGraph, naming: Naming): string {
  const condition = graph.conditions.get(node) as Condition;
  switch (condition.kind) {
    case 'ended':
      return `ended with exit code ${condition.exitCode}`;
    case 'killed':
      return 'was killed';
    case 'stopped':
    case 'silent':
      return `stopped for ${secondsText(condition.seconds)}`;
    case 'busy':
    case 'blocked':
      return `${condition.kind} for ${secondsText(condition.seconds)}`;
    default:
      return waitState(node, graph, naming) ?? 'runs';
  }
}

function waitState(node: Node, graph: WaitGraph, naming: Naming): string | undefined {
  const edges = (graph.edges.get(node) ?? []).filter(({ call, note }) => call && isPending(call) && !note);
  const call = edges[0]?.call ?? pendingOf(node)[0];
  if (!call) return undefined;
  const seconds = Math.max(0, node.seen.seenUntil - node.seen.offset - call.begun) / 1e6;
  const duration = call.begun > 0 && seconds >= 1 ? ` (${secondsText(seconds)})` : '';
  const missing = edges.filter(({ to }) => !to).map(({ rank }) => rank);
  const nodes = edges.flatMap(({ to }) => (to ? [to] : []));
  const whom = nodes.length > 0 ? naming.names(nodes) : missing.length > 0 ? `rank ${missing[0]}` : undefined;
  return whom === undefined ? `in ${callName(call)}${duration}` : `waits for ${whom} in ${callName(call)}${duration}`;
}

function pendingOf({ members }: Node): readonly Call[] {
  return members.flatMap(({ calls, messages }) => [...calls.values(), ...messages].filter(isPending));
}

/** What a thread did between two readings. */
function ratesOf(
  { seen, members }: Node,
  span: { readonly record: ThreadRecord; readonly micros: number } | undefined,
  lasts: LastBegins,
) {
  const { record } = seen;
  const unknown = { callsPerSecond: undefined, bytesPerSecond: undefined, exchange: undefined, waiting: undefined };
  const untimed = { stepsPerSecond: undefined, samplesPerSecond: undefined, cpu: undefined };
  if (!span || span.micros <= 0) return { ...unknown, ...untimed };
  const { record: before, micros } = span;
  const made = Math.max(0, record.callsMade - before.callsMade);
  const latest = record.calls.slice(Math.max(0, record.calls.length - made));
  const bytes = latest.reduce((sum, call) => sum + call.bytes, 0);
  const perSecond = (amount: number) => (1e6 * Math.max(0, amount)) / micros;
  return {
    callsPerSecond: perSecond(made),
    // More calls than a record contains: as if all had been like the latest ones.
    bytesPerSecond: latest.length === 0 ? 0 : perSecond((bytes * made) / latest.length),
    ...sharesOf({ seen, members }, micros, lasts),
    stepsPerSecond: record.steps > 0 ? perSecond(record.steps - before.steps) : undefined,
    samplesPerSecond: record.samples > 0 ? perSecond(record.samples - before.samples) : undefined,
    cpu: record.alive > before.alive ? (record.cpuTime - before.cpuTime) / (record.alive - before.alive) : undefined,
  };
}

/** The parts of the last `micros` that a thread was in calls, and waited. */
function sharesOf({ seen, members }: Pick<Node, 'seen' | 'members'>, micros: number, lasts: LastBegins) {
  const until = seen.seenUntil - seen.offset;
  const node = { seen, members, ranks: new Map() };
  const calls = seen.record.calls.flatMap((call) => {
    if (call.begun === 0) return [];
    const begun = Math.max(call.begun, until - micros);
    const ended = isPending(call) ? until : call.ended;
    return ended > begun ? [{ ...call, begun, ended }] : [];
  });
  // Waiting in a call that goes on is known when it ends, but such a call mostly waits.
  const waited = calls.reduce(
    (sum, call) => sum + waitOf({ ...call, waited: Math.min(call.waited, call.ended - call.begun) }, node, lasts),
    0,
  );
  const exchange = Math.min(1, covered(calls) / micros);
  return { exchange, waiting: Math.min(exchange, waited / micros) };
}

const mostWarnings = 5;
const warningMillis = 60_000;

/** The latest notes that a reader should see, oldest first. */
function warningsOf(nodes: readonly Node[], naming: Naming): readonly Warning[] {
  const threads = new Set<ThreadRecord>();
  const warnings = nodes.flatMap((node) => {
    const { record } = node.seen;
    if (threads.has(record)) return [];
    threads.add(record);
    const [rank] = naming.ranks([node]);
    const resumed = record.notes.findLast(({ kind }) => kind === 'resumed')?.time ?? 0;
    const latest = wallOf(record, Math.max(record.alive, record.loopTurn));
    return record.notes
      .filter(({ kind, time }) => kind === 'failure' || ((kind === 'stall' || kind === 'silence') && time > resumed))
      .map(({ kind, time, text }) => ({ time: wallOf(record, time), rank, kind, text, latest }))
      .filter(({ time, latest: now }) => time > now - warningMillis);
  });
  warnings.sort((a, b) => a.time - b.time);
  return warnings.slice(-mostWarnings).map(({ time, rank, kind, text }) => ({ time, rank, kind, text }));
}

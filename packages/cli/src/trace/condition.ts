import { constants } from 'node:os';
import { systemCallName } from './call-text.js';
import { isPending, type Node } from './group-records.js';
import type { ThreadRecord } from './record-file.js';

/** What the thread of a node did at the end of its record. */
export type Condition =
  /** Its event loop turned, or it was in a call. */
  | { readonly kind: 'running' }
  /** It ended by itself. */
  | { readonly kind: 'ended'; readonly exitCode: number; readonly at: number }
  /** Its process ended without closing the record. */
  | { readonly kind: 'killed'; readonly at: number; readonly signal?: string | undefined }
  /** Its process does not run, or did not until it was killed. */
  | { readonly kind: 'stopped'; readonly at: number; readonly seconds: number; readonly isOver?: boolean }
  /** Nothing is known after this time: it was killed or stopped. */
  | { readonly kind: 'silent'; readonly at: number; readonly seconds: number }
  /** JavaScript code did not return to the event loop. */
  | { readonly kind: 'busy'; readonly seconds: number }
  /** The thread was in a system call and did not return to the event loop. */
  | { readonly kind: 'blocked'; readonly seconds: number; readonly systemCall: number };

/** The clocks in records are written each second; a thread that runs may be this late, in microseconds. */
export const lateness = 3e6;

/** An event loop that turns may seem to be this late, in microseconds. */
const loopLateness = 2e6;

/** More than the time between two signs of life in a record, in microseconds. */
export const pulse = 1.5e6;

/**
 * The conditions of all threads of some jobs. A launcher ends all processes of a job once one has ended:
 * those others had been running until then.
 */
export function conditionsOf(nodes: readonly Node[]): ReadonlyMap<Node, Condition> {
  const firstEnds = new Map<string, number>();
  for (const node of nodes.filter(hasEndedFirst)) {
    const key = runOf(node);
    firstEnds.set(key, Math.min(firstEnds.get(key) ?? Number.POSITIVE_INFINITY, lastSign(node)));
  }
  const wasRunning = (node: Node) => {
    const first = firstEnds.get(runOf(node));
    return first !== undefined && !hasEndedFirst(node) && lastSign(node) > first - pulse;
  };
  return new Map(
    nodes.map((node) => {
      const condition = conditionOf(node);
      return [node, condition.kind === 'killed' && wasRunning(node) ? { kind: 'running' } : condition];
    }),
  );
}

/** Whether the launcher saw the process of a node end before it ended the others. */
export function hasEndedFirst({ seen }: Pick<Node, 'seen'>): boolean {
  return seen.record.endedWith !== undefined;
}

/** Equal for the processes that one launcher has started together. */
function runOf({ seen: { record } }: Node): string {
  return `${record.job} ${Math.max(0, ...record.parts.map(({ generation }) => generation))}`;
}

/** The condition of a node when its record ends. */
function conditionOf(node: Node): Condition {
  const { record, process, offset, seenUntil } = node.seen;
  const { end, exitCode, endedWith, alive, loopTurn } = record;
  const lastSeen = lastSign(node);
  if (end !== 'open') return { kind: 'ended', exitCode, at: lastSeen };
  if (endedWith !== undefined && endedWith < 128) return { kind: 'ended', exitCode: endedWith, at: lastSeen };
  const stillMicros = seenUntil - (alive + offset);
  if (process === 'stopped') return { kind: 'stopped', at: lastSeen, seconds: stillMicros / 1e6 };
  // Between two pulses, a process that runs is known to run until its record was read.
  const isFresh = process === 'running' && stillMicros <= lateness;
  const loopLag = (isFresh ? seenUntil - offset : alive) - loopTurn;
  if (alive > 0 && loopTurn > 0 && loopLag > loopLateness && !isPolling(record) && !isBlockedInCall(node))
    return occupied(node, seenUntil - offset - loopTurn);
  if (endedWith !== undefined) return { kind: 'killed', at: lastSeen, signal: signalName(endedWith - 128) };
  if (process === 'gone') return { kind: 'killed', at: lastSeen };
  if (alive === 0 || stillMicros <= lateness) return { kind: 'running' };
  return { kind: process === 'running' ? 'stopped' : 'silent', at: lastSeen, seconds: stillMicros / 1e6 };
}

function signalName(number: number): string | undefined {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
}

/** Whether the event loop waits for events, so that it can turn at any time. */
function isPolling({ threadState, systemCall }: ThreadRecord): boolean {
  return threadState === 'S' && systemCallName(systemCall).startsWith('epoll');
}

function occupied({ seen: { record } }: Node, micros: number): Condition {
  const seconds = micros / 1e6;
  const { threadState, systemCall } = record;
  if (threadState !== 'R' && systemCall >= 0) return { kind: 'blocked', seconds, systemCall };
  return threadState === 'D' ? { kind: 'blocked', seconds, systemCall: -1 } : { kind: 'busy', seconds };
}

/** Whether the thread is blocked in a collective or message, so that its event loop cannot turn. */
function isBlockedInCall({ seen: { record }, members }: Node): boolean {
  const { isInCall, threadState, systemCall } = record;
  if (isInCall) return true;
  // The engines in JavaScript and WebAssembly block in Atomics.wait.
  const mayWait = threadState !== 'R' && (systemCall < 0 || systemCallName(systemCall) === 'futex');
  return mayWait && members.some(({ calls, messages }) => [...calls.values(), ...messages].some(isPending));
}

/** When the thread of a node last did anything, in common time. */
export function lastSign({ seen: { record, offset } }: Pick<Node, 'seen'>): number {
  return lastSignOf(record) + offset;
}

/** When a thread last did anything, by the clock of its host. */
export function lastSignOf(record: ThreadRecord): number {
  return timesOf(record).lastSign;
}

/** The first failure that a node has seen, in common time; undefined if it has seen none. */
export function firstFailure({ seen: { record, offset } }: Pick<Node, 'seen'>): number | undefined {
  const { failure } = timesOf(record);
  return failure === undefined ? undefined : failure + offset;
}

interface Times {
  readonly lastSign: number;
  readonly failure: number | undefined;
}

// Groups of many ranks ask for the same times again and again.
const known = new WeakMap<ThreadRecord, Times>();

function timesOf(record: ThreadRecord): Times {
  let times = known.get(record);
  if (!times) {
    times = { lastSign: latestTime(record), failure: failureTime(record) };
    known.set(record, times);
  }
  return times;
}

function latestTime({ begun, alive, loopTurn, notes, calls }: ThreadRecord): number {
  let last = Math.max(begun, alive, loopTurn);
  for (const { time } of notes) last = Math.max(last, time);
  for (const call of calls) last = Math.max(last, call.begun, call.ended);
  return last;
}

function failureTime(record: ThreadRecord): number | undefined {
  let first: number | undefined;
  const add = (time: number) => {
    if (!isSuperseded(record, time)) first = Math.min(first ?? time, time);
  };
  for (const { kind, time } of record.notes) if (kind === 'failure') add(time);
  for (const { state, begun, ended } of record.calls) if (state === 'failed') add(ended || begun);
  return first;
}

/** Whether a thread has opened another group after this time, so that what happened then is over. */
export function isSuperseded({ parts }: ThreadRecord, time: number): boolean {
  return parts.some(({ parent, opened }) => parent === '' && opened > time);
}

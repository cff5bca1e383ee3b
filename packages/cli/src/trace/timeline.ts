import { callName } from './call-text.js';
import { isMessage, type SeenRecord } from './group-records.js';
import type { Call, RecordedPart } from './record-file.js';

/** An event in Chrome's trace format. Times are microseconds. */
export type TraceEvent = Readonly<Record<string, unknown>>;

/**
 * The calls and notes of all threads as events of Chrome's trace format: a process per process, a track
 * per thread, and more tracks for calls that overlap.
 */
export function* timelineOf(records: readonly SeenRecord[]): Generator<TraceEvent> {
  const zero = records.reduce((least, seen) => Math.min(least, firstTime(seen)), Number.POSITIVE_INFINITY);
  const pids = new Map<string, number>();
  for (const seen of records) {
    const { record } = seen;
    const process = record.process || `${record.host} ${record.pid}`;
    let pid = pids.get(process);
    if (pid === undefined) {
      pid = pids.size + 1;
      pids.set(process, pid);
      const name = `${record.host}, process ${record.pid}: ${record.program}`;
      yield { ph: 'M', name: 'process_name', pid, tid: 0, args: { name } };
    }
    yield* tracksOf(seen, pid, zero);
  }
}

/** Tracks per thread: one for calls one after the other, more for calls at the same time. */
const mostTracks = 64;

function* tracksOf({ record, offset, seenUntil }: SeenRecord, pid: number, zero: number): Generator<TraceEvent> {
  const first = 1 + record.thread * mostTracks;
  const title = titleOf(record.parts, record.threadName);
  const ends: number[] = [];
  const at = (time: number) => Number((time + offset - zero).toFixed(3));
  const begun = record.calls.filter((call) => call.begun > 0).sort((a, b) => a.begun - b.begun);
  yield { ph: 'M', name: 'thread_name', pid, tid: first, args: { name: title } };
  for (const call of begun) {
    const until = call.ended > 0 ? call.ended : Math.max(call.begun, seenUntil - offset);
    let track = ends.findIndex((end) => end <= call.begun);
    if (track < 0) track = Math.min(ends.length, mostTracks - 1);
    if (track > 0 && track === ends.length)
      yield { ph: 'M', name: 'thread_name', pid, tid: first + track, args: { name: `${title} (${track + 1})` } };
    ends[track] = until;
    const dur = Number((until - call.begun).toFixed(3));
    yield {
      ph: 'X',
      name: nameOf(call),
      cat: call.verb,
      pid,
      tid: first + track,
      ts: at(call.begun),
      dur,
      args: argsOf(call),
    };
  }
  for (const { kind, time, text, rank, call } of record.notes) {
    if (time === 0) continue;
    yield { ph: 'i', s: 't', name: kind, cat: 'note', pid, tid: first, ts: at(time), args: { text, rank, call } };
  }
}

function titleOf(parts: readonly RecordedPart[], threadName: string): string {
  const whole = parts.find(({ parent }) => parent === '') ?? parts[0];
  const rank = whole && (whole.rank < 0 ? 'all ranks' : `rank ${whole.rank}`);
  return [rank, threadName].filter(Boolean).join(', ') || 'thread';
}

function nameOf(call: Call): string {
  const { peer, verb } = call;
  if (!isMessage(call)) return callName(call).replace(/ \d+$/, '');
  return `${verb} ${verb === 'send' ? 'to' : 'from'} ${peer}`;
}

function argsOf(call: Call) {
  const { number, verb, op, dtype, purpose, state, peer, waitedFor, bytes, waited, begun, firstData, part } = call;
  return {
    ...{ number, verb, op, dtype, purpose, state, bytes },
    ...(isMessage(call) ? { peer } : { root: peer }),
    ...(part.algorithm === '' ? {} : { algorithm: part.algorithm }),
    ...{ engine: part.engine, transport: part.transport, group: part.group },
    ...(waited > 0 ? { waitedMicros: waited, waitedFor } : {}),
    ...(firstData > begun ? { firstDataMicros: firstData - begun } : {}),
  };
}

function firstTime({ record, offset }: SeenRecord): number {
  let first = record.begun > 0 ? record.begun : Number.POSITIVE_INFINITY;
  for (const { begun } of record.calls) if (begun > 0) first = Math.min(first, begun);
  for (const { time } of record.notes) if (time > 0) first = Math.min(first, time);
  return first + offset;
}

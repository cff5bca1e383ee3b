import { exactBytes } from '@coll/core/internal';
import { isMessage } from './group-records.js';
import type { Call, ThreadRecord } from './record-file.js';

/** How the clock of a host compares with the clock of the first host. */
export interface HostClock {
  readonly host: string;
  /** Microseconds to add to times of this host. */
  readonly offset: number;
  /** Microseconds by which the offset may be wrong; undefined if only the wall clocks of the hosts were compared. */
  readonly error: number | undefined;
}

/**
 * Compares the monotonic clocks of hosts. Every collective that all ranks take part in limits the
 * difference of two clocks: it cannot end on one rank before it has begun on every other. Hosts without
 * a common call are compared by their wall clocks.
 */
export function alignClocks(records: readonly ThreadRecord[]): ReadonlyMap<string, HostClock> {
  const hosts = new Map<string, ThreadRecord[]>();
  for (const record of records) hosts.set(record.host, [...(hosts.get(record.host) ?? []), record]);
  const walls = new Map([...hosts].map(([host, ofHost]) => [host, wallOriginOf(ofHost)]));
  const spans = new Map([...hosts].map(([host, ofHost]) => [host, spansOf(ofHost)]));
  const clocks = new Map<string, HostClock>();
  for (const host of hosts.keys()) {
    const reference = clocks.values().next().value?.host ?? host;
    clocks.set(host, host === reference ? { host, offset: 0, error: 0 } : compared(reference, host, { walls, spans }));
  }
  return clocks;
}

function compared(
  reference: string,
  host: string,
  {
    walls,
    spans,
  }: { readonly walls: ReadonlyMap<string, number>; readonly spans: ReadonlyMap<string, ReadonlyMap<string, Span>> },
): HostClock {
  const byWall = (walls.get(host) as number) - (walls.get(reference) as number);
  const [ours, theirs] = [spans.get(reference), spans.get(host)] as [
    ReadonlyMap<string, Span>,
    ReadonlyMap<string, Span>,
  ];
  let [least, most] = [-Infinity, Infinity];
  for (const [key, one] of ours) {
    const other = theirs.get(key);
    // One rank per host at least, and all together.
    if (!other) continue;
    least = Math.max(least, one.lastBegun - other.firstEnded);
    most = Math.min(most, one.firstEnded - other.lastBegun);
  }
  if (least === -Infinity) return { host, offset: byWall, error: undefined };
  // Clocks drift apart, so that limits of calls at different times may exclude each other by a little.
  return { host, offset: (least + most) / 2, error: Math.abs(most - least) / 2 };
}

/** When a call had begun on all ranks of a host, at the earliest, and when it first ended on one, at the latest. */
interface Span {
  lastBegun: number;
  firstEnded: number;
}

/** Calls in which no rank can end before all have begun. */
const joint: ReadonlySet<string> = new Set(['all-reduce', 'all-gather', 'reduce-scatter', 'all-to-all']);

function spansOf(records: readonly ThreadRecord[]): ReadonlyMap<string, Span> {
  const spans = new Map<string, Span>();
  for (const { calls } of records)
    for (const call of calls) {
      if (!limits(call)) continue;
      const key = `${call.number} ${call.part.group}`;
      const error = isExact(call) ? 0 : longestTick;
      const [begun, ended] = [call.begun - error, call.ended + error];
      const span = spans.get(key);
      if (!span) spans.set(key, { lastBegun: begun, firstEnded: ended });
      else {
        span.lastBegun = Math.max(span.lastBegun, begun);
        span.firstEnded = Math.min(span.firstEnded, ended);
      }
    }
  return spans;
}

function limits(call: Call): boolean {
  const { verb, state, begun, ended, part, bytes } = call;
  // Without elements, a collective may end at once.
  return (
    joint.has(verb) && !isMessage(call) && state === 'done' && begun > 0 && ended > 0 && part.rank >= 0 && bytes > 0
  );
}

/** The longest tick of Linux, at 100 Hz, in microseconds. */
const longestTick = 10_000;

/**
 * Whether a call had begun and not ended at its times. Of small calls, native code records the tick
 * before their end, and that they begin to wait only after they have sent their data.
 */
function isExact({ part, bytes }: Call): boolean {
  return part.engine !== 'native' || bytes >= exactBytes;
}

/** Microseconds since 1970 at the time 0 of a host's clock. */
function wallOriginOf(records: readonly ThreadRecord[]): number {
  const origins = records.flatMap(({ alive, aliveWall, begun, begunWall }) => {
    if (alive > 0 && aliveWall > 0) return [1000 * aliveWall - alive];
    return begun > 0 && begunWall > 0 ? [1000 * begunWall - begun] : [];
  });
  origins.sort((a, b) => a - b);
  return origins[origins.length >> 1] ?? 0;
}

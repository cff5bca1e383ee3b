import type { CollectiveKind } from '../collective.js';
import { chunkRange } from './chunk-range.js';
import type { Round, Schedule } from './schedule.js';

/** What a machine is like, and how much is sent. */
export interface CostOptions {
  /** What the schedule is for. Default: all-reduce. */
  readonly kind?: CollectiveKind;
  /** Bytes of the whole buffer that the chunks cut: for all-gather and reduce-scatter the blocks of all ranks. */
  readonly bytes: number;
  /** Seconds that a message takes however short it is. */
  readonly alpha: number;
  /** Seconds that a port takes for a byte. Every rank has one, which sends and receives at the same time. */
  readonly beta: number;
  /** Seconds that a rank takes to combine a byte. */
  readonly gamma: number;
}

export interface Link {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

/** What a schedule costs on such a machine. */
export interface Cost {
  readonly rounds: number;
  /** Most bytes that any rank sends, in all rounds together. */
  readonly bytesPerRank: number;
  /** The two ranks between which most bytes go, in this direction and in all rounds together; none where nothing moves. */
  readonly busiestLink: Link | undefined;
  /** Each round lasts until its busiest rank is done: `alpha`, then its bytes on the port, then those to combine. */
  readonly seconds: number;
}

/** The price of a schedule by the usual model of a message: a latency, and a time for every byte. */
export function cost(schedule: Schedule, { kind = 'all-reduce', bytes, alpha, beta, gamma }: CostOptions): Cost {
  const sizes = Array.from({ length: schedule.chunks }, (_, chunk) => {
    const { begin, end } = chunkRange(schedule, kind, bytes, chunk);
    return end - begin;
  });
  const sent = new Float64Array(schedule.ranks);
  let seconds = 0;
  for (const round of schedule.rounds) {
    const load = loadOf(round, schedule.ranks, sizes);
    for (const [rank, count] of load.sent.entries()) sent[rank] = (sent[rank] as number) + count;
    const onPort = Math.max(most(load.sent), most(load.received));
    if (round.length > 0) seconds += alpha + beta * onPort + gamma * most(load.reduced);
  }
  return {
    rounds: schedule.rounds.length,
    bytesPerRank: most(sent),
    busiestLink: busiestLink(schedule, sizes),
    seconds,
  };
}

/** Bytes by rank. */
interface Load {
  readonly sent: Float64Array;
  readonly received: Float64Array;
  readonly reduced: Float64Array;
}

function loadOf(round: Round, ranks: number, sizes: readonly number[]): Load {
  const sent = new Float64Array(ranks);
  const received = new Float64Array(ranks);
  const reduced = new Float64Array(ranks);
  for (const { from, to, chunk, reduce } of round) {
    const size = sizes[chunk] as number;
    sent[from] = (sent[from] as number) + size;
    received[to] = (received[to] as number) + size;
    if (reduce) reduced[to] = (reduced[to] as number) + size;
  }
  return { sent, received, reduced };
}

function busiestLink({ ranks, rounds }: Schedule, sizes: readonly number[]): Link | undefined {
  const links = new Map<number, number>();
  let busiest: Link | undefined;
  for (const round of rounds) {
    for (const { from, to, chunk } of round) {
      const bytes = (links.get(from * ranks + to) ?? 0) + (sizes[chunk] as number);
      links.set(from * ranks + to, bytes);
      if (!busiest || bytes > busiest.bytes) busiest = { from, to, bytes };
    }
  }
  return busiest;
}

function most(values: Float64Array): number {
  return values.reduce((high, value) => Math.max(high, value), 0);
}

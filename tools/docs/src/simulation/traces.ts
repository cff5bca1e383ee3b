import { chunkRange, type LinkTimes, type Round, type Schedule } from '@coll/core/schedule';
import { type Machine, slowness } from './platform.ts';

/** An all-reduce to simulate. */
export interface Trial {
  readonly schedule: Schedule;
  readonly machine: Machine;
  readonly bytes: number;
  /** Seconds to combine a byte. */
  readonly gamma: number;
}

/** The data that one rank sends to another in a round. */
interface Message {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  /** The bytes of the message that the receiver combines. */
  readonly reduced: number;
}

/**
 * The actions of every rank, in the trace format that SimGrid replays. A rank ends a round when its own
 * messages are complete.
 */
export function tracesOf(trial: Trial): string[] {
  const ranks = Array.from({ length: trial.schedule.ranks }, (_, rank) => rank);
  const traces = ranks.map((rank) => [`${rank} init`]);
  for (const round of trial.schedule.rounds) {
    const messages = messagesOf(trial, round);
    const incoming = groupBy(messages, ({ to }) => to);
    const outgoing = groupBy(messages, ({ from }) => from);
    for (const [rank, trace] of traces.entries()) {
      trace.push(...actionsOf(trial, rank, incoming.get(rank) ?? [], outgoing.get(rank) ?? []));
    }
  }
  return traces.map((trace, rank) => [...trace, `${rank} finalize`, ''].join('\n'));
}

function messagesOf({ schedule, machine, bytes }: Trial, round: Round): Message[] {
  const links = groupBy(round, ({ from, to }) => from * schedule.ranks + to);
  return [...links.values()].map((transfers) => {
    const { from, to } = transfers[0] as Round[number];
    const sizes = transfers.map(({ chunk, reduce }) => {
      const { begin, end } = chunkRange(schedule, 'all-reduce', bytes, chunk, 'input');
      return { size: end - begin, reduced: reduce ? end - begin : 0 };
    });
    return {
      from,
      to,
      bytes: headerBytes(machine, from, to) + sumOf(sizes.map(({ size }) => size)),
      reduced: sumOf(sizes.map(({ reduced }) => reduced)),
    };
  });
}

function actionsOf(
  { gamma }: Trial,
  rank: number,
  incoming: readonly Message[],
  outgoing: readonly Message[],
): string[] {
  if (incoming.length + outgoing.length === 0) return [];
  const reduced = sumOf(incoming.map((message) => message.reduced));
  // A simulated host executes 10^9 operations per second.
  const operations = Math.round(reduced * gamma * slowness * 1e9);
  return [
    ...incoming.map(({ from, bytes }) => `${rank} irecv ${from} 0 ${bytes}`),
    ...outgoing.map(({ to, bytes }) => `${rank} isend ${to} 0 ${bytes}`),
    `${rank} waitall`,
    ...(operations > 0 ? [`${rank} compute ${operations}`] : []),
  ];
}

/** Bytes that the simulator adds to every message. */
const envelopeBytes = 16;

/** The overhead of a message, expressed as bytes that occupy the port for the same time. */
function headerBytes({ ranksPerWorker, within, across }: Machine, from: number, to: number): number {
  const workerOf = (rank: number) => Math.floor(rank / ranksPerWorker);
  const { overhead = 0, beta }: LinkTimes = workerOf(from) === workerOf(to) ? within : across;
  return Math.max(0, Math.round(overhead / beta) - envelopeBytes);
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => number): Map<number, Item[]> {
  const groups = new Map<number, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

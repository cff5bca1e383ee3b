import type { Collective } from '@coll/core';
import { stepsOf } from '@coll/core/plugin';
import { endsOf, goalOf, hasBlocks, ownerOf, type Round, type Schedule, type Transfer } from '@coll/core/schedule';

/** A transfer of the original schedule, in words. */
export interface Move {
  /** Identifies the transfer in the schedule: `round.index`. */
  readonly id: string;
  readonly text: string;
  /** False if the visitor has removed the transfer. */
  readonly isSent: boolean;
}

/** What one rank holds of one chunk. */
export interface Cell {
  /** The ranks whose contributions the rank holds, such as `0–2, 5`; empty without any. */
  readonly held: string;
  /** Whether the last executed round wrote the chunk at this rank. */
  readonly isWritten: boolean;
  /** Whether the collective wants this chunk at this rank, and all contributions are there. */
  readonly isResult: boolean;
}

/** What all ranks hold of one chunk. */
export interface Row {
  readonly title: string;
  readonly cells: readonly Cell[];
}

/** The transfers that the visitor has removed, each as `round.index`. */
export type Removed = ReadonlySet<string>;

/** The removed transfers of a state. */
export function removedOf(without: string): Removed {
  return new Set(without.split(',').filter((id) => id !== ''));
}

/** The state's text for removed transfers, after one of them was removed or put back. */
export function toggled(removed: Removed, id: string): string {
  const others = [...removed].filter((known) => known !== id);
  return (removed.has(id) ? others : [...others, id]).join(',');
}

/** A schedule without the removed transfers, with as many rounds as before. */
export function withoutRemoved(schedule: Schedule, removed: Removed): Schedule {
  const kept = (round: Round, at: number) => round.filter((_, index) => !removed.has(`${at}.${index}`));
  return { ...schedule, rounds: schedule.rounds.map(kept) };
}

/** The transfers of a round in words. */
export function movesOf({ rounds }: Schedule, round: number, removed: Removed): Move[] {
  return (rounds[round] ?? []).map((transfer, index) => {
    const id = `${round}.${index}`;
    return { id, text: wordsOf(transfer), isSent: !removed.has(id) };
  });
}

/** What every rank holds after the first `steps` rounds: a row per chunk, with a cell per rank. */
export function holdingsAfter(schedule: Schedule, collective: Collective, steps: number): Row[] {
  const { ranks, chunks } = schedule;
  const goal = goalOf(collective, schedule);
  const contributors = (chunk: number) => upTo(ranks).filter((rank) => goal.contributes(rank, chunk));
  const { held, written } = execute(schedule, collective, steps);
  return upTo(chunks).map((chunk) => {
    const wanted = contributors(chunk).length;
    const cells = upTo(ranks).map((rank) => {
      const place = rank * chunks + chunk;
      const contributions = held[place] as ReadonlySet<number>;
      const isResult = goal.receives(rank, chunk) && contributions.size === wanted;
      return { held: rangesOf(contributions), isWritten: written.has(place), isResult };
    });
    return { title: titleOf(chunk, schedule, collective), cells };
  });
}

/** The contributions by place, `rank * chunks + chunk`, and the places that the last of the rounds wrote. */
function execute(schedule: Schedule, collective: Collective, steps: number) {
  const { ranks, chunks, rounds } = schedule;
  const goal = goalOf(collective, schedule);
  const held: ReadonlySet<number>[] = upTo(ranks * chunks).map((place) => {
    const rank = Math.floor(place / chunks);
    return new Set(goal.contributes(rank, place % chunks) ? [rank] : []);
  });
  let written: ReadonlySet<number> = new Set();
  for (const round of rounds.slice(0, steps)) {
    // No round reads a place that it writes, so places may change one by one.
    const writes = stepsOf(round).map(({ to, chunk, operands }) => {
      held[to * chunks + chunk] = new Set(operands.flatMap((rank) => [...(held[rank * chunks + chunk] ?? [])]));
      return to * chunks + chunk;
    });
    written = new Set(writes);
  }
  return { held, written };
}

function titleOf(chunk: number, schedule: Schedule, { kind }: Collective): string {
  if (!hasBlocks(kind)) return `chunk ${chunk}`;
  if (kind !== 'all-to-all') return `chunk ${chunk}, block of rank ${ownerOf(schedule, chunk)}`;
  const { from, to } = endsOf(schedule, chunk);
  return `chunk ${chunk}, from ${from} to ${to}`;
}

function wordsOf({ from, to, chunk, reduce }: Transfer): string {
  return reduce
    ? `rank ${from} sends chunk ${chunk} to rank ${to}, which combines it with its own`
    : `rank ${from} sends chunk ${chunk} to rank ${to}, which stores it`;
}

function rangesOf(ranks: ReadonlySet<number>): string {
  const sorted = [...ranks].sort((a, b) => a - b);
  const starts = sorted.filter((rank) => !ranks.has(rank - 1));
  return starts
    .map((first) => {
      let last = first;
      while (ranks.has(last + 1)) last += 1;
      if (last === first) return `${first}`;
      return last === first + 1 ? `${first}, ${last}` : `${first}–${last}`;
    })
    .join(', ');
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

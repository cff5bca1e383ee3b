import { CollError } from '../support/errors.js';
import type { Schedule, Transfer } from './schedule.js';

/** Builds a schedule of these rounds, leaving out empty ones. */
export function scheduleOf(ranks: number, chunks: number, rounds: Iterable<Iterable<Transfer>>): Schedule {
  return { ranks, chunks, rounds: Array.from(rounds, (round) => [...round]).filter((round) => round.length > 0) };
}

/**
 * Concatenates schedules of the same number of ranks and chunks.
 * @throws CollError for an empty list, or if the numbers differ
 */
export function sequence(...schedules: readonly Schedule[]): Schedule {
  const { ranks, chunks } = shapeOf(schedules);
  return { ranks, chunks, rounds: schedules.flatMap((schedule) => schedule.rounds) };
}

/**
 * Merges schedules of the same number of ranks and chunks, which then run concurrently, round by
 * round. No two of them may use the same chunk of the same rank.
 * @throws CollError for an empty list, or if the numbers differ
 */
export function together(...schedules: readonly Schedule[]): Schedule {
  const { ranks, chunks } = shapeOf(schedules);
  const length = Math.max(...schedules.map((schedule) => schedule.rounds.length));
  const rounds = Array.from({ length }, (_, round) => schedules.flatMap((schedule) => schedule.rounds[round] ?? []));
  return { ranks, chunks, rounds };
}

/**
 * Merges schedules of the same number of ranks, which then run concurrently, each on its own
 * chunks. `place(which, chunk)` returns the index in the result of a chunk of `schedules[which]`.
 * The indices must be all of those from 0 to the total number of chunks minus 1, each used once.
 * @throws CollError for an empty list, or if the numbers of ranks differ
 */
export function sideBySide(schedules: readonly Schedule[], place: (which: number, chunk: number) => number): Schedule {
  const total = schedules.reduce((sum, schedule) => sum + schedule.chunks, 0);
  return together(...schedules.map((schedule, which) => onChunks(schedule, (chunk) => place(which, chunk), total)));
}

/**
 * Applies a schedule to a sub-group of `total` ranks: rank `i` of the schedule becomes `ranks[i]`.
 * @throws CollError unless `ranks` contains one distinct rank for each rank of the schedule
 */
export function onRanks(schedule: Schedule, ranks: readonly number[], total: number): Schedule {
  if (ranks.length !== schedule.ranks || new Set(ranks).size !== ranks.length) {
    const group = ranks.join(', ');
    throw new CollError(
      'ERR_COLL_SCHEDULE',
      `a schedule for ${schedule.ranks} ranks cannot be executed by the ranks (${group})`,
    );
  }
  const move = (transfer: Transfer): Transfer => ({
    ...transfer,
    from: ranks[transfer.from] as number,
    to: ranks[transfer.to] as number,
  });
  return { ...schedule, ranks: total, rounds: schedule.rounds.map((round) => round.map(move)) };
}

/**
 * Applies a schedule to some of `total` chunks: `place(chunk)` returns the index of a chunk in the
 * result.
 */
export function onChunks(schedule: Schedule, place: (chunk: number) => number, total: number): Schedule {
  const move = (transfer: Transfer): Transfer => ({ ...transfer, chunk: place(transfer.chunk) });
  return { ...schedule, chunks: total, rounds: schedule.rounds.map((round) => round.map(move)) };
}

/**
 * The same schedule with every chunk cut into `pieces`: chunk `c` becomes `pieces` chunks, numbered
 * from `c * pieces`.
 */
export function refine(schedule: Schedule, pieces: number): Schedule {
  const copies = Array.from({ length: pieces }, (_, piece) =>
    onChunks(schedule, (chunk) => chunk * pieces + piece, schedule.chunks * pieces),
  );
  return together(...copies);
}

/**
 * Cuts the buffer of a schedule into `blocks` blocks, each of which passes the rounds of the
 * schedule one round after the block before it. Different blocks then use different links at the
 * same time, if the rounds of the schedule do: a pipeline.
 *
 *     round      0    1    2    3
 *     block 0    r0   r1   r2
 *     block 1         r0   r1   r2
 */
export function pipelined(schedule: Schedule, blocks: number): Schedule {
  const { ranks, chunks, rounds } = schedule;
  const copies = Array.from({ length: blocks }, (_, block) => {
    const copy = onChunks(schedule, (chunk) => block * chunks + chunk, blocks * chunks);
    return { ...copy, rounds: [...Array.from({ length: block }, () => []), ...copy.rounds] };
  });
  return rounds.length === 0 ? { ranks, chunks: blocks * chunks, rounds } : together(...copies);
}

function shapeOf(schedules: readonly Schedule[]): Schedule {
  const [first, ...others] = schedules;
  if (!first) throw new CollError('ERR_COLL_SCHEDULE', 'the list of schedules to compose must not be empty');
  const odd = others.find((other) => other.ranks !== first.ranks || other.chunks !== first.chunks);
  if (!odd) return first;
  const sizes = [first, odd].map(({ ranks, chunks }) => `${ranks} ranks and ${chunks} chunks`).join(', the other ');
  throw new CollError('ERR_COLL_SCHEDULE', `cannot compose schedules of different sizes: one has ${sizes}`);
}

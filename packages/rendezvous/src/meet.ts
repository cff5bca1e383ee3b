import { CollError, DeadlineExceededError, quote, ValueError } from '@coll/core';
import { requireStore, requireValue, requireWait, type Store, type WaitOptions } from './store.js';
import { Waits } from './waiting.js';

/** Who comes, to which group, and how long it waits for the others. */
export interface MeetOptions extends WaitOptions {
  /** Which of the groups that meet in this store, one after the other: after a failure, the next. Default: 0. */
  readonly generation?: number;
  /** The rank of this member, from 0; each comes once a generation. */
  readonly rank: number;
  /** Members of the group, the same for all of them. */
  readonly size: number;
  /** What the others get to know of this member, such as its address: up to 1 MiB. */
  readonly card: Uint8Array;
}

/**
 * Brings the members of a group together: each shows its card and gets those of all, in rank order, when everybody is there.
 * @throws DeadlineExceededError that names the ranks that never came, or where the store does not answer; AbortedError; CollError where a rank is there twice; ValueError for a rank
 * that is not in the group, and what is no store, card or wait
 */
export async function meet(store: Store, options: MeetOptions): Promise<readonly Uint8Array[]> {
  requireStore(store);
  requireWait(options);
  const { generation = 0, rank, size, card, timeoutSeconds, signal } = Object(options) as MeetOptions;
  requireValue(card);
  requireMember(generation, rank, size);
  const keyOf = (member: number) => `generation/${generation}/of/${size}/card/${member}`;
  const begun = performance.now();
  if (!(await show(store, keyOf(rank), options))) {
    const told = `rank ${rank} of generation ${generation} is there already`;
    const cure =
      'every member needs a rank of its own, a group that meets again the next generation, and another run a store of its own';
    throw new CollError('ERR_COLL_STORE', `${told}: ${cure}`, { rank, operation: 'meet' });
  }
  const seconds = (performance.now() - begun) / 1000;
  const isForEver = !timeoutSeconds || timeoutSeconds <= 0;
  const waiting = { timeoutSeconds: isForEver ? null : Math.max(timeoutSeconds - seconds, leastSeconds), signal };
  const ranks = Array.from({ length: size }, (_, member) => member);
  const cards = await Promise.allSettled(
    ranks.map(async (member) => (member === rank ? Uint8Array.from(card) : store.get(keyOf(member), waiting))),
  );
  const failed = cards.find((result) => result.status === 'rejected');
  if (failed && !(failed.reason instanceof DeadlineExceededError)) throw failed.reason;
  if (failed) {
    const missing = ranks.filter((member) => cards[member]?.status === 'rejected').join(', ');
    const told = `rank ${rank} waited ${timeoutSeconds} seconds for the ${size} members of generation ${generation}: rank ${missing} never came`;
    throw new DeadlineExceededError('ERR_COLL_DEADLINE', told, { rank, operation: 'meet', cause: failed.reason });
  }
  return cards.map((result) => (result as PromiseFulfilledResult<Uint8Array>).value);
}

// None would be for ever.
const leastSeconds = 0.001;

/** Shows a card, unless there is one: whether it did. @throws DeadlineExceededError, AbortedError where the store does not answer */
async function show(store: Store, key: string, { rank, card, timeoutSeconds, signal }: MeetOptions): Promise<boolean> {
  const awaited = { operation: 'meet', key, problem: 'was not written' };
  try {
    const write = () => store.compareSet(key, undefined, card);
    return await new Waits().within(awaited, { timeoutSeconds, signal }, write);
  } catch (cause) {
    if (!(cause instanceof DeadlineExceededError)) throw cause;
    const told = `rank ${rank} waited ${timeoutSeconds} seconds for the store, which does not answer: look at whoever keeps it`;
    throw new DeadlineExceededError('ERR_COLL_DEADLINE', told, { rank, operation: 'meet', cause });
  }
}

function requireMember(generation: number, rank: number, size: number): void {
  const isCount = (value: number) => Number.isInteger(value) && value >= 0;
  if (isCount(generation) && isCount(rank) && isCount(size) && rank < size) return;
  const told = `rank ${quote(rank)} of ${quote(size)}, generation ${quote(generation)}`;
  throw new ValueError('ERR_COLL_VALUE', `members have ranks from 0 to below the size, not ${told}`, {
    operation: 'meet',
  });
}

import { knownOptions, optionsOf } from '@coll/core/internal';
import { Meeting, type MeetingOptions } from './meeting.js';
import { requireValue, type Store } from './store.js';

/** Who comes, to which group, with what, and how long it waits for the others. */
export interface MeetOptions extends MeetingOptions {
  /** What the others get to know of this member, such as its address: up to 1 MiB. */
  readonly card: Uint8Array;
}

const meetOptions = knownOptions<MeetOptions>('meet', {
  timeoutSeconds: true,
  signal: true,
  generation: true,
  rank: true,
  size: true,
  terms: true,
  operation: true,
  onWait: true,
  card: true,
});

/**
 * Brings the members of a group together: each shows its card and gets those of all, in rank order, when everybody is there.
 * @throws CollError (ERR_COLL_STORE), on all members that are there, where they do not say the same of the group or one rank is there twice; UnavailableError (ERR_COLL_STORE)
 * where members have come for a newer generation, now or before, or the store has lost what a member wrote; DeadlineExceededError that names the ranks that never came, or where the store does not answer; AbortedError;
 * ValueError for a rank that is not in the group, and what is no store, card or wait
 */
export async function meet(store: Store, options: MeetOptions): Promise<readonly Uint8Array[]> {
  const { card, ...others } = optionsOf(options, '{ rank: 0, size: 2, card }', meetOptions) as MeetOptions;
  requireValue(card);
  const meeting = new Meeting(store, others);
  try {
    return await meeting.attempt(() => meeting.gather('card', card));
  } finally {
    meeting.end();
  }
}

import { knownOptions, optionsOf } from '@coll/core/internal';
import { requireValue, type Store } from './store.js';
import { StoreRendezvous, type StoreRendezvousOptions } from './store-rendezvous.js';

/** Who comes, to which group, with what, and how long it waits for the others. */
export interface JoinGroupOptions extends StoreRendezvousOptions {
  /** What the others get to know of this member, such as its address: up to 1 MiB. */
  readonly card: Uint8Array;
}

const meetOptions = knownOptions<JoinGroupOptions>('meet', {
  timeoutSeconds: true,
  signal: true,
  generation: true,
  rank: true,
  size: true,
  settings: true,
  operation: true,
  onWait: true,
  card: true,
});

/**
 * Brings the members of a group together: each shows its card and gets those of all, in rank order, when everybody is there.
 * @throws CollError (ERR_COLL_STORE), on all members that are there, where they do not say the same of the group or one rank is there twice; UnavailableError (ERR_COLL_STORE)
 * where members have come for a newer generation, now or before, or the store has lost what a member wrote; DeadlineExceededError that names the ranks that did not arrive, or where the store does not answer; AbortedError;
 * ValueError for a rank that is not in the group, and what is no store, card or wait
 */
export async function joinGroup(store: Store, options: JoinGroupOptions): Promise<readonly Uint8Array[]> {
  const { card, ...others } = optionsOf(options, '{ rank: 0, size: 2, card }', meetOptions) as JoinGroupOptions;
  requireValue(card);
  const meeting = new StoreRendezvous(store, others);
  try {
    return await meeting.attempt(() => meeting.gather('card', card));
  } finally {
    meeting.end();
  }
}

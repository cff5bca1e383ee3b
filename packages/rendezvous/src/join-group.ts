import { knownOptions, optionsOf } from '@coll/core/internal';
import { requireValue, type Store } from './store.js';
import { StoreRendezvous, type StoreRendezvousOptions } from './store-rendezvous.js';

/** The member that joins a group, and the data that it publishes (its card). */
export interface JoinGroupOptions extends StoreRendezvousOptions {
  /** Data that this member publishes to the other members, such as its address. At most 1 MiB. */
  readonly card: Uint8Array;
}

const joinOptions = knownOptions<JoinGroupOptions>('joinGroup', {
  timeoutSeconds: true,
  signal: true,
  generation: true,
  rank: true,
  size: true,
  settings: true,
  operation: true,
  lossError: true,
  onWait: true,
  card: true,
});

/**
 * Waits for all members of a group. Each member publishes its card (data such as an address), and
 * gets the cards of all members in rank order once all have arrived.
 * @throws CollError (ERR_COLL_STORE), on all members that are present, if their settings differ or
 * a rank is present twice; UnavailableError (ERR_COLL_STORE) if members of a newer generation have
 * arrived, or the store has lost a member's data; DeadlineExceededError if the store does not
 * answer, or if ranks, which the message lists, did not arrive; AbortedError if `signal` aborts;
 * ValueError for a rank outside the group, or an invalid store, card, timeout or signal
 *
 * @example
 * ```ts
 * import { joinGroup, MemoryStore } from '@coll/rendezvous';
 *
 * const store = new MemoryStore();
 * const join = (rank: number) => joinGroup(store, { rank, size: 2, card: new Uint8Array([rank]) });
 * const [cards] = await Promise.all([join(0), join(1)]);
 * console.log(cards); // [ Uint8Array(1) [ 0 ], Uint8Array(1) [ 1 ] ]
 * ```
 */
export async function joinGroup(store: Store, options: JoinGroupOptions): Promise<readonly Uint8Array[]> {
  const { card, ...others } = optionsOf(options, '{ rank: 0, size: 2, card }', joinOptions) as JoinGroupOptions;
  requireValue(card);
  const rendezvous = new StoreRendezvous(store, others);
  try {
    return await rendezvous.attempt(() => rendezvous.gather('card', card));
  } finally {
    rendezvous.end();
  }
}

import { connect as dial, type Socket } from 'node:net';
import { UnavailableError } from '@coll/core';
import { type Card, hostOf } from './card.js';
import { isSameHost } from './host.js';
import type { Member } from './member.js';

const lookMillis = 300;
// Who gives up closes its listener a moment before the others hear why.
const mostRefusals = 3;

/**
 * Looks, while the group opens, whether the member before this one in rank is still there: it listens until all have opened the group, so that nobody does so where it has ended.
 * Members look in a ring, and only where they connect anyway, or on one host. Tells at most once; returns what ends the watch.
 */
export function watchBefore(member: Member, cards: readonly Card[], tell: (error: UnavailableError) => void) {
  const rank = (member.rank + member.size - 1) % member.size;
  const [own, before] = [cards[member.rank], cards[rank]] as [Card, Card];
  const isReachable = rank < member.rank || isSameHost(hostOf(own), hostOf(before));
  if (rank === member.rank || !isReachable) return () => {};
  let socket: Socket | undefined;
  let refusals = 0;
  const look = () => {
    socket?.destroy();
    const made = dial(before.addresses[refusals % before.addresses.length] as Card['addresses'][0]);
    socket = made;
    made.once('connect', () => {
      refusals = 0;
      made.destroy();
    });
    made.once('error', ({ code }: NodeJS.ErrnoException) => {
      refusals = code === 'ECONNREFUSED' ? refusals + 1 : 0;
      if (refusals === mostRefusals) tell(endedError(rank, before));
    });
  };
  const timer = setInterval(look, lookMillis);
  return () => {
    clearInterval(timer);
    socket?.destroy();
  };
}

function endedError(rank: number, { hostName }: Card): UnavailableError {
  const told = `rank ${rank} on ${hostName} has ended before the group was open: look at its own error, and open the next generation`;
  return new UnavailableError('ERR_COLL_PEER_FAILED', told, { rank, operation: 'open a group' });
}

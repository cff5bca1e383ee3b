import type { MemberConfig } from './member-config.js';

type Settings = Pick<MemberConfig, 'streams' | 'size'>;

// If one stream loses packets and slows down, the other one goes on.
const streamsOfTwoHosts = 2;

/**
 * Number of TCP connections that carry data between this member and another one. `isSameHost`:
 * whether both are on the same host.
 */
export function streamsTo({ streams, size }: Settings, isSameHost: boolean): number {
  if (streams !== 'auto') return streams;
  // With more members, each network link already carries several streams, and further ones slow
  // each other down.
  return isSameHost || size > 2 ? 1 : streamsOfTwoHosts;
}

import type { MemberConfig } from './member-config.js';

type Settings = Pick<MemberConfig, 'streams' | 'size'>;

// Where one stream has lost packets and slows down, the other one goes on.
const streamsOfTwoHosts = 2;

/** How many TCP connections carry the data of this member and one that is on the same host, or on another. */
export function streamsTo({ streams, size }: Settings, isSameHost: boolean): number {
  if (streams !== 'auto') return streams;
  // Among more members, each link has several streams already, and more of them get into each other's way.
  return isSameHost || size > 2 ? 1 : streamsOfTwoHosts;
}

/** No pair of members has more. */
export function mostStreams(member: Settings): number {
  return streamsTo(member, false);
}

import { createHash } from 'node:crypto';
import type { Link } from '@coll/core';
import { type RecordedGroup, recordedGroup } from '@coll/core/internal';
import type { MemberConfig } from './member-config.js';
import type { PeerInfo } from './peer-info.js';

/** The group in the records of a member. All members derive the same id, from the nonces that they have published. */
export function recordedMember(
  { rank, size, generation, whole, parent }: MemberConfig,
  peers: readonly PeerInfo[],
  links: readonly Link[],
): RecordedGroup {
  const hash = createHash('sha256').update(String(generation));
  for (const { nonce } of peers) hash.update(nonce);
  const id = hash.digest('hex').slice(0, 32);
  const transport = [...new Set(links.map((link) => link.transport))].sort().join(' ') || 'none';
  const place = { rank, size, generation, wholeRank: whole?.[rank], parent };
  return recordedGroup({ id, kind: 'processes', engine: 'native', transport, ...place });
}

import { withoutProof, withProof } from '../src/authentic-records.js';
import type { OpenProcessGroupOptions } from '../src/index.js';
import { memberOf } from '../src/member-config.js';
import { type PeerInfo, readPeerInfo } from '../src/peer-info.js';

/** What a member publishes in the store, and how somebody with the job key writes something else in its place. */
export function decodePeer(
  record: Uint8Array,
  rank: number,
  options: OpenProcessGroupOptions,
): { readonly info: PeerInfo; readonly encode: (info: PeerInfo) => Uint8Array } {
  const member = memberOf(options);
  const where = { step: 'peers' };
  const content = withoutProof(member, rank, where, record);
  if (!content) throw new Error(`rank ${rank} has not written this record`);
  const encode = (info: PeerInfo) => withProof(member, rank, where, Buffer.from(JSON.stringify(info)));
  return { info: readPeerInfo(content, rank), encode };
}

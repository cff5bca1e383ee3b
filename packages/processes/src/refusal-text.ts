import type { Mesh } from './connections.js';
import type { PeerInfo } from './peer-info.js';

/**
 * Text about a member that refuses the connections of this one, with both ends and the likely cause.
 * `isThere`: whether the other member is known to be alive.
 */
export function refusalText({ member, peers }: Pick<Mesh, 'member' | 'peers'>, rank: number, isThere: boolean): string {
  const [own, other] = [peers[member.rank], peers[rank]] as [PeerInfo, PeerInfo];
  const at = other.addresses.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`));
  const ends = `rank ${member.rank} on ${own.hostName} cannot connect to rank ${rank} on ${other.hostName} at ${at.join(', ')}`;
  const likely = `a firewall or a wrong COLL_HOST on ${other.hostName} is likely`;
  return isThere
    ? `${ends}: connection refused; rank ${rank} is still in the group, so ${likely}`
    : `${ends}: connection refused; if rank ${rank} has exited, see the output of that process; otherwise ${likely}`;
}

import { createHmac } from 'node:crypto';
import type { MemberConfig } from './member-config.js';
import { groupVersion } from './peer-info.js';

type GroupIdentity = Pick<MemberConfig, 'key' | 'job' | 'generation' | 'size'>;

/**
 * Derives the tickets of the data connections between two members, 64 bytes each. The first half is
 * what the connecting member sends. If `isSealed`, the second half is the key of TLS, which nobody
 * sends; otherwise it is what the accepting member answers. A ticket is the HMAC-SHA512, keyed by the
 * job key, of the fresh nonces of both members, the group, both ranks and the number of the
 * connection. Only members can derive it, and it is valid for one connection.
 *
 * @param nonces the nonce of each rank
 */
export function ticketsOf(
  { key, job, generation, size }: GroupIdentity,
  [one, other]: readonly [number, number],
  nonces: readonly Buffer[],
  connections: number,
  isSealed: boolean,
): Uint8Array {
  const [lower, higher] = [Math.min(one, other), Math.max(one, other)];
  const tickets = Array.from({ length: connections }, (_, index) => {
    const numbers = Buffer.alloc(24);
    for (const [at, number] of [groupVersion, generation, size, lower, higher, index].entries())
      numbers.writeUInt32BE(number, at * 4);
    // All parts but the last have fixed lengths, so their concatenation is unambiguous.
    const mac = createHmac('sha512', key)
      .update(isSealed ? 'coll sealed data\n' : 'coll data\n')
      .update(nonces[lower] as Buffer);
    return mac
      .update(nonces[higher] as Buffer)
      .update(numbers)
      .update(job)
      .digest();
  });
  return Uint8Array.from(Buffer.concat(tickets));
}

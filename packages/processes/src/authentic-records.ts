import { createHmac, timingSafeEqual } from 'node:crypto';
import { CollError } from '@coll/core';
import type { StoreRendezvous } from '@coll/rendezvous';
import type { MemberConfig } from './member-config.js';
import { groupVersion } from './peer-info.js';

/** A step in which members exchange records through the store. */
export interface RecordStep {
  readonly step: string;
  /** What the step follows, which is equal on all members. Default: nothing. */
  readonly after?: Uint8Array;
}

type GroupIdentity = Pick<MemberConfig, 'key' | 'job' | 'generation' | 'size'>;

const proofBytes = 32;

/**
 * Exchanges records through the store, which others may be able to write. Each record is preceded by
 * a proof: the HMAC-SHA256, keyed by the job key, of the record, step, group and rank.
 * @returns the records in rank order
 * @throws CollError (ERR_COLL_STORE) that names the first rank whose record is not the one that this
 * member has written in this step of this group; the errors of `StoreRendezvous.gather`
 */
export async function gatherAuthentic(
  rendezvous: StoreRendezvous,
  member: MemberConfig,
  where: RecordStep,
  record: Uint8Array,
): Promise<readonly Uint8Array[]> {
  const own = withProof(member, member.rank, where, record);
  const found = await rendezvous.gather(where.step, own);
  return found.map((bytes, rank) => {
    const content = withoutProof(member, rank, where, bytes);
    // Only a comparison shows that somebody has brought an earlier record of this rank back.
    const isRight = content && (rank !== member.rank || Buffer.compare(bytes, own) === 0);
    if (isRight) return content;
    const problem = `rank ${rank} has a different job key, or somebody has altered its record in the store`;
    const advice =
      'give all members the same COLL_JOB_KEY and a store of their own, which only the users of the job can write';
    throw new CollError('ERR_COLL_STORE', `${problem}: ${advice}`, { rank, operation: 'open a group' });
  });
}

/** A record as it is in the store. */
export function withProof(group: GroupIdentity, rank: number, where: RecordStep, record: Uint8Array): Uint8Array {
  return Buffer.concat([proofOf(group, rank, where, record), record]);
}

/** The record in these bytes; undefined if `rank` has not written it in this step of this group. */
export function withoutProof(
  group: GroupIdentity,
  rank: number,
  where: RecordStep,
  bytes: Uint8Array,
): Uint8Array | undefined {
  if (bytes.length < proofBytes) return undefined;
  const record = bytes.subarray(proofBytes);
  const isRight = timingSafeEqual(bytes.subarray(0, proofBytes), proofOf(group, rank, where, record));
  return isRight ? record : undefined;
}

function proofOf(
  { key, job, generation, size }: GroupIdentity,
  rank: number,
  { step, after = new Uint8Array() }: RecordStep,
  record: Uint8Array,
): Buffer {
  const texts = [Buffer.from(step), Buffer.from(job), after];
  const numbers = Buffer.alloc(28);
  for (const [index, number] of [groupVersion, generation, size, rank, ...texts.map((text) => text.length)].entries())
    numbers.writeUInt32BE(number, index * 4);
  const mac = createHmac('sha256', key).update('coll record\n').update(numbers);
  for (const text of texts) mac.update(text);
  return mac.update(record).digest();
}

import type { StoreRendezvous } from '@coll/rendezvous';
import { describe, expect, it } from 'vitest';
import { gatherAuthentic, withProof } from './authentic-records.js';
import { memberOf } from './member-config.js';

const member = memberOf({ rank: 0, size: 2, jobKey: 'tests-only-4kQz9XvB7mLwR2', job: 'digits' });
const other = { ...member, rank: 1 };
const where = { step: 'peers', after: Buffer.of(1, 2) };
const record = Buffer.from('a record');
const right = Buffer.from(withProof(member, 1, where, record));

/** The record of rank 1 that rank 0 gets if the store contains these bytes. */
async function got(bytes: Uint8Array, own = (written: Uint8Array) => written): Promise<string> {
  const rendezvous = { gather: async (_: string, written: Uint8Array) => [own(written), bytes] };
  const found = await gatherAuthentic(rendezvous as unknown as StoreRendezvous, member, where, Buffer.from('own'));
  return Buffer.from(found[1] as Uint8Array).toString();
}

describe('records in the store', () => {
  it('arrive as they were written', async () => {
    expect(await got(right)).toBe('a record');
  });

  it('are refused with any changed bit, and if they are cut off', async () => {
    const refused = expect.objectContaining({
      ...{ code: 'ERR_COLL_STORE', rank: 1, operation: 'open a group' },
      message: expect.stringMatching(
        /^rank 1 has a different job key, or somebody has altered its record in the store: /,
      ),
    });
    for (let bit = 0; bit < 8 * right.length; bit++) {
      const changed = Buffer.from(right);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      await expect(got(changed), String(bit)).rejects.toEqual(refused);
    }
    for (const length of [0, 31, 32, right.length - 1])
      await expect(got(right.subarray(0, length)), String(length)).rejects.toEqual(refused);
  });

  it.each<[string, Uint8Array]>([
    ['another job key', withProof({ ...other, key: Buffer.alloc(32) }, 1, where, record)],
    ['another job', withProof({ ...other, job: 'words' }, 1, where, record)],
    ['another generation', withProof({ ...other, generation: 1 }, 1, where, record)],
    ['another size', withProof({ ...other, size: 3 }, 1, where, record)],
    ['another rank', withProof(other, 0, where, record)],
    ['another step', withProof(other, 1, { ...where, step: 'links' }, record)],
    ['other earlier records', withProof(other, 1, { ...where, after: Buffer.of(1, 3) }, record)],
  ])('of %s are refused', async (_, bytes) => {
    await expect(got(bytes)).rejects.toMatchObject({ rank: 1 });
  });

  it('are refused if the own record is an earlier one', async () => {
    const earlier = () => withProof(member, 0, where, Buffer.from('earlier'));
    await expect(got(right, earlier)).rejects.toMatchObject({ code: 'ERR_COLL_STORE', rank: 0 });
  });
});

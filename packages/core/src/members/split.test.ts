import { directAlgorithm } from '@coll/direct';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { joinThreadGroup, openMembers } from '../engines/open-members.js';
import { jsEngine } from '../js/js-engine.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { Member } from './member.js';

const all = <R>(members: readonly Member[], call: (member: Member) => Promise<R>) => Promise.all(members.map(call));
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('split() into sizes that the algorithm refuses', () => {
  it.each([
    ['ring', ringAlgorithm({ workers: 2 }), /a new group of 3 ranks: 3 ranks cannot be divided evenly/],
    ['reduction-to-one', reductionToOneAlgorithm({ root: 3 }), /a new group of 3 ranks: root must be one of the 3/],
  ])('is refused on all members before a group opens: %s', async (name, algorithm, reason) => {
    const members = openMembers({ size: 6, algorithm, engine: 'js' });
    for (const error of await all(members, (member) => errorOf(member.split(member.rank % 2)))) {
      expect(error).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED', operation: 'split' });
      expect(String(error)).toMatch(`the algorithm "${name}" refuses`);
      expect(String(error)).toMatch(reason);
      expect(String(error)).toMatch(/directAlgorithm\(\)/);
    }
    // All members have refused the same call, so the group works, and splits into other sizes.
    const parts = (await all(members, (member) => member.split(member.rank < 4 ? 0 : -1))).slice(0, 4) as Member[];
    expect(await all(parts, (part) => part.allReduce('sum', Float32Array.of(1)))).toEqual(
      Array(4).fill(Float32Array.of(4)),
    );
  });

  it('is refused in threads too', async () => {
    const group = jsEngine.createGroup({ size: 3 });
    const algorithm = ringAlgorithm({ workers: 3 });
    const members = [0, 1, 2].map((rank) => joinThreadGroup(group, { rank, algorithm }));
    for (const error of await all(members, (member) => errorOf(member.split(member.rank % 2))))
      expect(error).toMatchObject({ code: 'ERR_COLL_REFUSED', operation: 'split' });
    const again = await all(members, (member) => member.split(0));
    expect(again.map((member) => member?.size)).toEqual([3, 3, 3]);
    await all(members, (member) => member.close());
  });

  it('accepts an algorithm whose group makes as few collectives as the group before', async () => {
    const { plan } = directAlgorithm();
    const refuses = ({ kind }: Collective) => (kind === 'all-to-all' ? 'no all-to-all' : undefined);
    const some: Algorithm = { name: 'some', plan, refuses };
    const [first] = await all(openMembers({ size: 2, algorithm: some, engine: 'js' }), (member) => member.split(0));
    expect(first?.size).toBe(2);
  });
});

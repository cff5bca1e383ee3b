import type { Member } from '@coll/core';
import { autoAlgorithm, choicesOf } from '@coll/multi-worker';
import { openProcessGroup } from '@coll/processes';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { expect, it } from 'vitest';

it('implementation AUTO chooses the algorithm by the size of the value, for a group and for its split groups', async () => {
  const [store, jobKey] = [new MemoryStore(), TcpStoreServer.newKey()];
  const open = (rank: number) => openProcessGroup({ store, jobKey, rank, size: 2, algorithm: autoAlgorithm() });
  const groups = await Promise.all([open(0), open(1)]);
  const sums = (members: readonly Member[]) =>
    Promise.all(members.map((member) => member.allReduce('sum', new Float32Array([member.rank + 1]))));
  expect(await sums(groups)).toEqual([new Float32Array([3]), new Float32Array([3])]);
  for (const group of groups) expect(choicesOf(group)).toMatchObject([{ kind: 'all-reduce', upToBytes: 4, calls: 1 }]);
  const halves = (await Promise.all(groups.map((group) => group.split(0)))) as Member[];
  expect(await sums(halves)).toEqual([new Float32Array([3]), new Float32Array([3])]);
  await Promise.all([...halves, ...groups].map((member) => member.close()));
});

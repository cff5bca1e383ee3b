import { directAlgorithm } from '@coll/direct';
import { afterEach, expect, it, vi } from 'vitest';
import { jsEngine } from '../js/js-engine.js';
import { joinThreadGroup } from './open-members.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

it('a group of threads in Deno refuses messages by name, and still reduces', async () => {
  vi.stubGlobal('Deno', {});
  const group = jsEngine.createGroup({ size: 2 });
  const members = [0, 1].map((rank) => joinThreadGroup(group, { rank, algorithm: directAlgorithm() }));
  const value = Int8Array.of(1);
  const refused = { code: 'ERR_COLL_REFUSED', message: expect.stringContaining('a group of threads in Deno has no ') };
  await Promise.all(
    members.map(async (member) => {
      await expect(member.send(1 - member.rank, value)).rejects.toMatchObject(refused);
      await expect(member.receive(1 - member.rank, value)).rejects.toMatchObject(refused);
      expect(await member.allReduce('sum', value)).toEqual(Int8Array.of(2));
      await member.close();
    }),
  );
});

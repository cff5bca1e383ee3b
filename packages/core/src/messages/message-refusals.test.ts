import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { openMembers } from '../engines/open-members.js';
import type { Member } from '../members/member.js';

const open = (size: number) => openMembers({ size, algorithm: ringAlgorithm(), engine: 'js' });
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('messages', () => {
  describe.each([
    [
      'the sender',
      (first: Member) => first.send(1, 'one' as never),
      (_: Member, second: Member) => second.receive(0, new Float32Array(1)),
      'send to rank 1: rank 0',
    ],
    [
      'the receiver',
      (_: Member, second: Member) => second.receive(0, new Float32Array(1), { timeout: 1 } as never),
      (first: Member) => first.send(1, new Float32Array(1)),
      'receive from rank 0: rank 1',
    ],
  ])('that %s alone refuses', (_, refuse, make, message) => {
    const failed = {
      code: 'ERR_COLL_PEER_FAILED',
      message: expect.stringContaining(`${message} caught ERR_COLL_VALUE (`),
    };

    it.each(['before', 'after'])('fail the group, %s the call of the other one', async (when) => {
      const [first, second] = open(2) as [Member, Member];
      const made = when === 'after' ? errorOf(make(first, second)) : undefined;
      expect(await errorOf(refuse(first, second))).toMatchObject({ code: 'ERR_COLL_VALUE' });
      expect(await (made ?? errorOf(make(first, second)))).toMatchObject(failed);
      expect(await errorOf(first.barrier())).toMatchObject({ code: 'ERR_COLL_PEER_FAILED' });
    });

    it('fail the group if later messages are under way', async () => {
      const [first, second] = open(2) as [Member, Member];
      await errorOf(refuse(first, second));
      const later = [errorOf(first.send(1, new Float32Array(1))), errorOf(second.receive(0, new Float32Array(1)))];
      const last = errorOf(make(first, second));
      for (const error of await Promise.all([...later, last])) expect(error).toMatchObject({ code: failed.code });
    });
  });

  it('that both members refuse do not shift later ones', async () => {
    const [first, second] = open(2) as [Member, Member];
    const into = [new Float32Array(1), new Float32Array(1)] as const;
    for (const memory of into) {
      await errorOf(first.send(1, 'one' as never));
      await errorOf(second.receive(0, 5 as never));
      await Promise.all([first.send(1, Float32Array.of(7)), second.receive(0, memory)]);
    }
    expect(into).toEqual([Float32Array.of(7), Float32Array.of(7)]);
  });
});

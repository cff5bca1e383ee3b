import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { release } from '@coll/rendezvous/internal';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OpenProcessGroupOptions, openProcessGroup } from '../src/index.js';
import { Members } from './members.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;
// Longer than a test may take: what is refused is so long before.
const patience = { timeoutSeconds: 300, heartbeatSeconds: 20 };

describe('members in separate processes', () => {
  let members: Members;
  beforeAll(async () => {
    members = await Members.start(3);
  });
  afterAll(() => members[Symbol.asyncDispose]());

  const failure = (index: number, options: OpenProcessGroupOptions) =>
    (members.all[index] as Members['all'][0]).failure({ do: 'open', options: { ...patience, ...options } });
  const open = (index: number, options: OpenProcessGroupOptions) =>
    (members.all[index] as Members['all'][0]).ask({ do: 'open', options: { ...patience, ...options } });

  it.each<[string, OpenProcessGroupOptions[], RegExp]>([
    [
      'of another size',
      [
        { rank: 0, size: 3 },
        { rank: 1, size: 3 },
        { rank: 1, size: 2 },
      ],
      /rank \d has size \d, but rank \d has size \d: start all members/,
    ],
    [
      'of the same rank',
      [
        { rank: 0, size: 3 },
        { rank: 2, size: 3 },
        { rank: 2, size: 3 },
      ],
      /another process has already joined as rank 2 of generation \d/,
    ],
  ])('all fail at once if one is %s, and can open the next group', async (_, all, message) => {
    const generation = members.nextGeneration();
    const failures = await Promise.all(all.map((options, index) => failure(index, { ...options, generation })));
    for (const failure of failures) {
      expect(failure).toEqual(failures[0]);
      expect(failure).toMatchObject({ name: 'CollError', code: 'ERR_COLL_STORE', operation: 'open a group' });
      expect(failure.message).toMatch(message);
    }
    await members.open();
    const sums = await Promise.all(members.all.map((each) => each.ask({ do: 'run', collective: sum, length: 1 })));
    expect(sums).toEqual([[6], [6], [6]]);
    await Promise.all(members.all.map((each) => each.ask({ do: 'close' })));
  });

  it('of an older generation are refused, whether they join early or late, and the newer group works', async () => {
    const generation = members.nextGeneration();
    const newer = members.nextGeneration();
    const waited = failure(0, { rank: 0, size: 3, generation });
    await Promise.all([
      open(1, { rank: 0, size: 2, generation: newer }),
      open(2, { rank: 1, size: 2, generation: newer }),
    ]);
    const over = { name: 'UnavailableError', code: 'ERR_COLL_STORE', operation: 'open a group' };
    const message = new RegExp(
      `^generation ${generation} has ended, because rank [01] joined generation ${newer}; join the newer`,
    );
    expect(await waited).toMatchObject({ ...over, message: expect.stringMatching(message) });
    expect(await failure(0, { rank: 1, size: 2, generation })).toMatchObject({
      ...over,
      message: expect.stringMatching(message),
    });
    // Nor does who takes a rank that is there, once the group is open.
    expect(await failure(0, { rank: 1, size: 2, generation: newer })).toMatchObject({
      code: 'ERR_COLL_STORE',
      rank: 1,
    });
    const two = members.all.slice(1);
    const sums = await Promise.all(two.map((each) => each.ask({ do: 'run', collective: sum, length: 1 })));
    expect(sums).toEqual([[3], [3]]);
    await Promise.all(two.map((each) => each.ask({ do: 'close' })));
  });
});

it('a member that ended after it joined is reported to all members at once', async () => {
  await using members = await Members.start(3);
  const [first, second, third] = members.all as [Members['all'][0], Members['all'][0], Members['all'][0]];
  await using store = await members.store();
  const generation = members.nextGeneration();
  const options = { generation, ...patience };
  const lost = third.ask({ do: 'open', options }).catch(() => {});
  const waiting = second.failure({ do: 'open', options });
  await store.get(`job/test/generation/${generation}/peers/2`);
  third.child.kill('SIGKILL');
  await lost;
  for (const failure of [await first.failure({ do: 'open', options }), await waiting]) {
    expect(failure).toMatchObject({ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 2 });
    expect(failure.message).toMatch(/^rank 2 on .* exited before the group was open/);
  }
});

it('a member refuses a member with another version of the library at once', async () => {
  const store = new MemoryStore();
  const terms = { release, version: 1, size: 2 };
  await store.set('newest', Buffer.from(JSON.stringify({ generation: 0, rank: 0, terms })));
  const member = { store, rank: 1, size: 2, jobKey: TcpStoreServer.newKey(), ...patience };
  await expect(openProcessGroup(member)).rejects.toMatchObject({
    code: 'ERR_COLL_STORE',
    message: expect.stringMatching(
      /rank 0 has version 1, but rank 1 has version \d+: start all members with the same release/,
    ),
  });
});

import { AbortedError, DeadlineExceededError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { joinGroup, MemoryStore } from '../src/index.js';
import { SilentStore } from './silent-store.js';
import { tables } from './stores.js';

const card = (text: string) => new Uint8Array(Buffer.from(text));

describe('joinGroup', () => {
  it.each(Object.entries(tables))('returns the data of all members to every member, in a %s', async (_, make) => {
    const table = await make();
    const members = await Promise.all(
      [2, 0, 1].map(async (rank) => {
        await using store = await table.open();
        return await joinGroup(store, { rank, size: 3, card: card(`host ${rank}`), timeoutSeconds: 30 });
      }),
    );
    const all = ['host 0', 'host 1', 'host 2'];
    expect(members.map((cards) => cards.map((each) => Buffer.from(each).toString()))).toEqual([all, all, all]);
    await table.close();
  });

  it('names members that did not arrive', async () => {
    const store = new MemoryStore();
    const late = { size: 4, card: card(''), timeoutSeconds: 0.05 };
    const results = await Promise.allSettled([
      joinGroup(store, { ...late, rank: 2 }),
      joinGroup(store, { ...late, rank: 0 }),
    ]);
    const messages = results.map((result) => result.status === 'rejected' && result.reason.message).sort();
    // Either of them may be the first to give up.
    const first = messages[0].startsWith('rank 0') ? 0 : 2;
    const given = `rank ${first} waited 0.05 seconds for the 4 members of generation 0: rank 1, 3 did not arrive`;
    expect(messages).toEqual([`rank ${first} cannot join a group: ${given}`, given]);
    // Who comes later must not go on with members that have given up.
    await expect(joinGroup(store, { ...late, rank: 1 })).rejects.toMatchObject({
      code: 'ERR_COLL_DEADLINE',
      rank: first,
    });
  });

  it('refuses a rank that has already joined, but accepts it for another generation', async () => {
    const store = new MemoryStore();
    const alone = { rank: 0, size: 1, card: card('a') };
    await joinGroup(store, alone);
    await expect(joinGroup(store, alone)).rejects.toMatchObject({ code: 'ERR_COLL_STORE', rank: 0 });
    expect(await joinGroup(store, { ...alone, generation: 1, card: card('b') })).toEqual([card('b')]);
  });

  it('rejects when its signal is aborted', async () => {
    const abort = new AbortController();
    const waiting = joinGroup(new MemoryStore(), { rank: 0, size: 2, card: card(''), signal: abort.signal });
    abort.abort();
    await expect(waiting).rejects.toThrow(AbortedError);
  });

  it('does not wait longer than its timeout for a store that does not answer', async () => {
    const member = { rank: 1, size: 2, card: card('') };
    await expect(joinGroup(new SilentStore(), { ...member, timeoutSeconds: 0.05 })).rejects.toMatchObject({
      name: DeadlineExceededError.name,
      message: expect.stringMatching(
        /^rank 1 waited 0.05 seconds for the store, which has not answered for \d+\.\d seconds: check the server of the store$/,
      ),
      rank: 1,
    });
    await expect(joinGroup(new SilentStore(), { ...member, signal: AbortSignal.timeout(50) })).rejects.toThrow(
      AbortedError,
    );
  });

  it.each([
    { rank: 2, size: 2 },
    { rank: -1, size: 2 },
    { rank: 0.5, size: 2 },
    { rank: 0, size: 0 },
    { rank: 0, size: 1, generation: -1 },
  ])('refuses %j', async (member) => {
    await expect(joinGroup(new MemoryStore(), { ...member, card: card('') })).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
  });
});

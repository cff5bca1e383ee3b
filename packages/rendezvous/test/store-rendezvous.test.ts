import { DeadlineExceededError, UnavailableError } from '@coll/core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { joinGroup, MemoryStore, type Store, StoreRendezvous } from '../src/index.js';
import type { JoinAnswer, JoinTask } from './fixtures/joining-member.js';
import { JobProcesses } from './job-processes.js';
import { type SharedTable, type StoreConfig, tables } from './stores.js';

const card = new Uint8Array(Buffer.from('me'));
// Longer than a test may take: what is refused is so long before.
const timeoutSeconds = 300;

describe('members in separate processes', () => {
  let processes: JobProcesses;
  beforeAll(async () => {
    processes = await JobProcesses.start(new URL('./fixtures/joining-member.ts', import.meta.url), 3);
  });
  afterAll(() => processes[Symbol.asyncDispose]());

  /** What becomes of three members, each `[rank, size, generation, settings]`. */
  type RankConfig = readonly [
    rank: number,
    size: number,
    generation?: number,
    settings?: Readonly<Record<string, string>>,
  ];
  async function come(
    table: SharedTable,
    configs: readonly (RankConfig | undefined)[],
  ): Promise<readonly JoinAnswer[]> {
    return processes.run<JoinAnswer>((index): JoinTask => {
      const [rank = 0, size = 0, of = 0, settings = {}] = configs[index] ?? [];
      const config = { rank, size, settings, timeoutSeconds };
      return { place: table.place as StoreConfig, of, come: configs[index] ? config : undefined };
    });
  }

  const shared = Object.entries(tables).filter(([name]) => name !== 'MemoryStore');
  const hosts = (size: number) => Array.from({ length: size }, (_, rank) => `host of ${rank}`);

  describe.each(shared)('that use a %s', (_, make) => {
    it.each<[string, readonly RankConfig[], RegExp]>([
      [
        'another size',
        [
          [0, 3],
          [1, 3],
          [1, 2],
        ],
        /generation 0 disagree: rank \d has size \d, but rank \d has size \d/,
      ],
      [
        'the same rank',
        [
          [0, 3],
          [1, 3],
          [1, 3],
        ],
        /another process has already joined as rank 1 of generation 0: .*a different rank each/,
      ],
      [
        'other settings',
        [
          [0, 3, 0, { job: 'a' }],
          [1, 3, 0, { job: 'b' }],
          [2, 3, 0, { job: 'a' }],
        ],
        /rank \d has job "(a|b)", but rank \d has job "(a|b)"/,
      ],
    ])('are all refused at once if one has %s', async (_, configs, message) => {
      const table = await make();
      const answers = await come(table, configs);
      const [first] = answers;
      expect(first?.error?.message).toMatch(message);
      for (const { error } of answers) {
        expect(error).toMatchObject({ name: 'CollError', code: 'ERR_COLL_STORE', operation: 'join a group' });
        expect(error).toEqual(first?.error);
      }
      await table.close();
    });

    it('of an older generation are refused, whether they join early or late, and the newer generation joins', async () => {
      const table = await make();
      const over = { name: 'UnavailableError', code: 'ERR_COLL_STORE', operation: 'join a group' };
      const message = /^generation 3 has ended, because rank [01] joined generation 4; join the newer generation/;
      const [old, ...rest] = await come(table, [
        [0, 3, 3],
        [0, 2, 4],
        [1, 2, 4],
      ]);
      expect(old?.error).toMatchObject({ ...over, message: expect.stringMatching(message) });
      for (const { cards } of rest) expect(cards).toEqual(hosts(2));
      const [late, later] = await come(table, [[1, 3, 3], [2, 3, 0], undefined]);
      expect(late?.error).toMatchObject({ ...over, message: expect.stringMatching(message) });
      expect(later?.error).toMatchObject({ ...over, message: expect.stringMatching(/^generation 0 has ended/) });
      await table.close();
    });

    it('of a generation that has failed learn of the newer one if they join late', async () => {
      const table = await make();
      const [, second] = await come(table, [
        [0, 2, 3],
        [0, 2, 3],
      ]);
      expect(second?.error).toMatchObject({ code: 'ERR_COLL_STORE' });
      await come(table, [
        [0, 2, 4],
        [1, 2, 4],
      ]);
      const [late] = await come(table, [[1, 2, 3]]);
      const message = expect.stringMatching(/^generation 3 has ended, because rank [01] joined generation 4; /);
      expect(late?.error).toMatchObject({ name: 'UnavailableError', code: 'ERR_COLL_STORE', message });
      await table.close();
    });

    it('can join as the next generation even if an earlier run left its data in the store', async () => {
      const table = await make();
      // It was ended while it waited.
      const store = await table.open();
      const crashed = joinGroup(store, { rank: 1, size: 3, generation: 6, card, settings: { job: 'a' } });
      const left = crashed.catch((error) => error.code);
      await store.get('generation/6/card/1');
      await store.close();
      expect(await left).toBe('ERR_COLL_CLOSED');
      for (const { cards } of await come(table, [
        [0, 3, 7],
        [1, 3, 7],
        [2, 3, 7],
      ]))
        expect(cards).toEqual(hosts(3));
      await table.close();
    });
  });
});

describe('a StoreRendezvous', () => {
  const open = (store: MemoryStore, rank: number, more: object = {}) =>
    new StoreRendezvous(store, { rank, size: 2, timeoutSeconds, ...more });

  it('joins step by step, and reports which step a missing member reached', async () => {
    const store = new MemoryStore();
    const [first, second] = [open(store, 0, { timeoutSeconds: 0.2 }), open(store, 1)];
    await Promise.all([first.gather('cards', card), second.gather('cards', card)]);
    await expect(first.gather('links', card)).rejects.toMatchObject({
      name: DeadlineExceededError.name,
      message:
        'rank 0 waited 0.2 seconds for the 2 members of generation 0: rank 1 joined, but did not reach the step "links"',
    });
    second.end();
  });

  it.each([0.2, timeoutSeconds])(
    "ends for all members if the store lost a member's data, with a timeout of %d seconds",
    async (seconds) => {
      const store = new MemoryStore();
      const member = { size: 2, card, timeoutSeconds: seconds };
      const first = joinGroup(store, { ...member, rank: 0 });
      await store.get('generation/0/card/0');
      await store.delete('generation/0/card/0');
      const lost = {
        name: UnavailableError.name,
        code: 'ERR_COLL_STORE',
        rank: 0,
        operation: 'join a group',
        message: expect.stringContaining(
          'the store lost the data of rank 0: the store was emptied, restarted without its data, or expires values too early; restart the members for the next generation, with a store that keeps its data',
        ),
      };
      await expect(first).rejects.toMatchObject(lost);
      // It was not written again, so that nobody goes on without rank 0.
      await expect(joinGroup(store, { ...member, rank: 1 })).rejects.toMatchObject(lost);
    },
  );

  it('ends for both members if one joins after the store lost the data of the other', async () => {
    const store = new MemoryStore();
    const member = { size: 2, card, timeoutSeconds };
    const first = joinGroup(store, { ...member, rank: 0 });
    await store.get('generation/0/card/0');
    await store.delete('generation/0/card/0');
    const lost = { status: 'rejected', reason: { code: 'ERR_COLL_STORE', rank: 0, name: UnavailableError.name } };
    expect(await Promise.allSettled([first, joinGroup(store, { ...member, rank: 1 })])).toMatchObject([lost, lost]);
  });

  describe('whose check of its own data fails', () => {
    /** A rendezvous of rank 0, for which the store answers nothing about its card once that is written. */
    async function cutOff(seconds: number) {
      const shared = new MemoryStore();
      const store: Store = new MemoryStore(shared);
      const first = joinGroup(store, { rank: 0, size: 2, card, timeoutSeconds: seconds }).catch((error) => error);
      const own = 'generation/0/card/0';
      await shared.get(own);
      let hasFailed = false;
      const fail = () => {
        hasFailed = true;
        return Promise.reject(new UnavailableError('ERR_COLL_STORE', 'cut off'));
      };
      store.get = (key, options) => (key === own ? fail() : shared.get(key, options));
      store.compareSet = (key, ...values) => (key === own ? fail() : shared.compareSet(key, ...values));
      const checkHasFailed = () => vi.waitUntil(() => hasFailed, { timeout: timeoutSeconds * 1000 });
      return { store: shared, first, checkHasFailed };
    }

    it('names the store instead of a rank at the timeout', async () => {
      const { first } = await cutOff(0.2);
      expect(await first).toMatchObject({
        name: DeadlineExceededError.name,
        message: expect.stringMatching(
          /^rank 0 waited 0\.2 seconds for the store, which has not answered for \d\.\d seconds/,
        ),
      });
    });

    it('continues, and finds members that join later', async () => {
      const { store, first, checkHasFailed } = await cutOff(timeoutSeconds);
      await checkHasFailed();
      const second = joinGroup(store, { rank: 1, size: 2, card, timeoutSeconds });
      expect(await Promise.all([first, second])).toEqual([
        [card, card],
        [card, card],
      ]);
    });
  });

  it('ends if another process replaces the data of this rank in the store', async () => {
    const store = new MemoryStore();
    const first = joinGroup(store, { rank: 0, size: 2, card, timeoutSeconds });
    await store.get('generation/0/card/0');
    await store.set('generation/0/card/0', Buffer.from('somebody else'));
    await expect(first).rejects.toMatchObject({
      code: 'ERR_COLL_STORE',
      message: expect.stringMatching(/^the store lost/),
    });
  });

  it('ends for all members with the error of the member that failed', async () => {
    const store = new MemoryStore();
    const [first, second] = [open(store, 0), open(store, 1)];
    const waiting = first.gather('cards', card);
    const trouble = new Error('no memory');
    await expect(second.attempt(() => Promise.reject(trouble))).rejects.toBe(trouble);
    const failure = { code: 'ERR_COLL_PEER_FAILED', rank: 1, message: 'rank 1 cannot join a group: no memory' };
    await expect(waiting).rejects.toMatchObject(failure);
    // A member of a later run gets the same error, with the setting that it needs.
    const advice =
      'another run needs generation 1 or higher on all members (generation or COLL_GENERATION), or a job or store of its own';
    const late = `${failure.message} (generation 0 had failed before rank 0 joined; ${advice})`;
    await expect(open(store, 0).gather('cards', card)).rejects.toMatchObject({ ...failure, message: late });
  });

  it('lets the next run use any generation once one of its members has marked it as ended well', async () => {
    const store = new MemoryStore();
    const pair = (generation: number) => [open(store, 0, { generation }), open(store, 1, { generation })] as const;
    const crashed = pair(5);
    await Promise.all(crashed.map((member) => member.gather('cards', card)));
    await expect(open(store, 1, { generation: 5 }).gather('cards', card)).rejects.toThrow(
      /another process has already joined as rank 1 .*generation 6 or higher on all members \(generation or COLL_GENERATION\)/,
    );
    const runs = [pair(6), pair(0), pair(0)];
    for (const members of runs) {
      await Promise.all(members.map((member) => member.gather('cards', card)));
      // The other members of a run mark nothing that has begun since.
      for (const member of [...crashed, ...members]) await member.finish();
    }
    const [first, second] = pair(0);
    const waiting = first.gather('cards', card);
    await store.get('run/3/generation/0/cards/0');
    for (const member of runs.flat()) await member.finish();
    expect(await Promise.all([waiting, second.gather('cards', card)])).toEqual([
      [card, card],
      [card, card],
    ]);
  });

  it('ends at once if the store fails while a member is missing', async () => {
    const store = new MemoryStore();
    const first = open(store, 0, { size: 3 });
    const get = store.get.bind(store);
    const lost = new UnavailableError('ERR_COLL_STORE', 'the store is gone');
    store.get = (key, options) => (key === 'generation/0/cards/1' ? Promise.reject(lost) : get(key, options));
    store.getAll = () => Promise.reject(lost);
    await expect(first.gather('cards', card)).rejects.toBe(lost);
    first.end();
  });

  it('ends on a member that fails, even if the store is gone or does not answer', async () => {
    for (const compareSet of [() => Promise.reject(new Error('gone')), () => new Promise<never>(() => {})]) {
      const store: Store = new MemoryStore();
      const rendezvous = open(store as MemoryStore, 0);
      const waiting = rendezvous.gather('cards', card);
      await store.get('generation/0/cards/0');
      store.compareSet = compareSet;
      const lost = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 1 has ended', { rank: 1 });
      await rendezvous.fail(lost);
      expect(rendezvous.signal.reason).toBe(lost);
      await expect(waiting).rejects.toBe(lost);
    }
  });

  it('ends with the error of the store, not of a lost member, if the store is unreachable, too', async () => {
    const store = new MemoryStore();
    const rendezvous = open(store, 0);
    const waiting = rendezvous.gather('cards', card);
    await store.get('generation/0/cards/0');
    const gone = new UnavailableError('ERR_COLL_STORE', 'the store is gone');
    store.compareSet = () => Promise.reject(gone);
    await rendezvous.reportLoss(new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 1 has ended', { rank: 1 }));
    const error = await waiting.catch((reason: unknown) => reason);
    expect(error).toBe(rendezvous.signal.reason);
    expect(error).toMatchObject({
      code: 'ERR_COLL_STORE',
      message: 'the store is gone; rank 1 has ended',
      cause: gone,
    });
    expect(error).toHaveProperty('rank', undefined);
  });

  it('ends with the error of a lost member, unless the store is unreachable', async () => {
    for (const isBroken of [false, true]) {
      const store = new MemoryStore();
      const rendezvous = open(store, 0);
      const waiting = rendezvous.gather('cards', card);
      await store.get('generation/0/cards/0');
      if (isBroken) store.compareSet = () => Promise.reject(new Error('gone'));
      const lost = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 1 has ended', { rank: 1 });
      await rendezvous.reportLoss(lost);
      await expect(waiting).rejects.toMatchObject({ code: lost.code, message: lost.message, rank: 1 });
    }
  });

  it('names the newer generation and the lost member to a member that comes late', async () => {
    const store = new MemoryStore();
    const lost = new UnavailableError('ERR_COLL_PEER_FAILED', 'rank 1 has ended', { rank: 1, ranks: [1] });
    await open(store, 2, { size: 3 }).reportLoss(lost);
    const newer = new StoreRendezvous(store, { rank: 2, size: 3, generation: 1 });
    await newer.enter();
    await expect(open(store, 0, { size: 3 }).gather('cards', card)).rejects.toMatchObject({
      ...{ name: 'UnavailableError', code: 'ERR_COLL_STORE', rank: 1, ranks: [1] },
      message: expect.stringMatching(
        /^generation 0 has ended, because rank 2 joined generation 1; .*rank 1 has ended\)$/,
      ),
    });
    newer.end();
  });

  it('that has ended refuses another process with a rank that has already joined', async () => {
    const store = new MemoryStore();
    const both = [open(store, 0), open(store, 1)];
    await Promise.all(both.map((rendezvous) => rendezvous.gather('cards', card)));
    for (const rendezvous of both) rendezvous.end();
    await expect(open(store, 1).gather('cards', card)).rejects.toMatchObject({ code: 'ERR_COLL_STORE', rank: 1 });
  });

  it.each<[string, string]>([
    ['newest', 'nothing'],
    ['newest', '{}'],
    ['newest', '{"generation":0.5,"rank":0,"settings":{"size":2}}'],
    ['newest', '{"generation":0,"rank":0,"settings":{"size":[2]}}'],
    ['newest', '{"generation":0,"rank":0,"settings":null}'],
    ['generation/0/over', 'nothing'],
    ['generation/0/over', 'null'],
    ['generation/0/over', '{"name":"constructor","code":"rm","message":"x"}'],
    ['generation/0/over', JSON.stringify({ name: '__proto__', code: 'ERR_COLL_STORE', message: 7 })],
    ['generation/0/over', '['.repeat(500)],
  ])('ends with a short CollError if the value in the store under %s is %s', async (key, value) => {
    const store = new MemoryStore();
    await store.set(key, Buffer.from(value));
    const error = await joinGroup(store, { rank: 0, size: 2, card, timeoutSeconds }).catch((reason) => reason);
    expect(error).toMatchObject({ name: 'CollError', code: 'ERR_COLL_STORE', operation: 'join a group' });
    expect(error.message.length).toBeLessThan(400);
  });

  it('shortens long settings in its error messages', async () => {
    const store = new MemoryStore();
    const alone = { size: 2, card, timeoutSeconds };
    const long = joinGroup(store, { ...alone, rank: 0, settings: { job: 'a'.repeat(100_000) } }).catch(
      (error) => error,
    );
    const short = await joinGroup(store, { ...alone, rank: 1, settings: { job: 'b' } }).catch((error) => error);
    expect(short.message.length).toBeLessThan(600);
    expect((await long).message).toBe(short.message);
  });

  it.each([
    { settings: [] },
    { settings: null },
    { settings: { job: {} } },
    { settings: { job: Number.NaN } },
    { size: 4097 },
  ])('refuses %j', async (more) => {
    const member = { rank: 0, size: 2, card, ...more };
    await expect(joinGroup(new MemoryStore(), member as never)).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
  });
});

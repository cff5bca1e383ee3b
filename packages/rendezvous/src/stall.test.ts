import { expect, it } from 'vitest';
import { MemoryStore } from './memory-store.js';
import { readStalls, reportStall, type StallReport, stallSecondsFrom } from './stall.js';

const waiting = { operation: 'all-reduce sum', sequence: 17, missing: [2], seconds: 61 };
const never = new AbortController().signal;

async function take(store: MemoryStore, generation: number, count: number): Promise<StallReport[]> {
  const taken: StallReport[] = [];
  for await (const report of readStalls(store, generation, never)) {
    taken.push(report);
    if (taken.length === count) break;
  }
  return taken;
}

it('brings the reports of one generation, in order', async () => {
  await using store = new MemoryStore();
  await reportStall(store, { generation: 1, rank: 0 }, waiting);
  const reading = take(store, 2, 2);
  await reportStall(store, { generation: 2, rank: 1 }, waiting);
  await reportStall(store, { generation: 2, rank: 1 }, undefined);
  expect(await reading).toEqual([
    { rank: 1, stall: waiting },
    { rank: 1, stall: undefined },
  ]);
});

it('passes over what is no report', async () => {
  await using store = new MemoryStore();
  for (const [index, text] of ['{', 'null', '{"rank":-1}', '{"rank":1,"stall":{"operation":1}}'].entries())
    await store.set(`stall/0/${index}`, Buffer.from(text));
  await store.add('stall/0/count', 4);
  await reportStall(store, { generation: 0, rank: 3 }, undefined);
  expect(await take(store, 0, 1)).toEqual([{ rank: 3, stall: undefined }]);
});

it('ends when the reader has had enough, and when the store is closed', async () => {
  const store = new MemoryStore();
  const enough = new AbortController();
  const reading = readStalls(store, 0, enough.signal).next();
  enough.abort();
  expect(await reading).toEqual({ done: true, value: undefined });
  const other = readStalls(store, 0, never).next();
  await store.close();
  expect(await other).toEqual({ done: true, value: undefined });
});

it.each([
  [{}, undefined],
  [{ COLL_STALL_SECONDS: '' }, undefined],
  [{ COLL_STALL_SECONDS: '0' }, undefined],
  [{ COLL_STALL_SECONDS: 'soon' }, undefined],
  [{ COLL_STALL_SECONDS: '1.5' }, 1.5],
])('reads from %j after how long to report', (environment, seconds) => {
  expect(stallSecondsFrom(environment)).toBe(seconds);
});

import { expect, it } from 'vitest';
import { MemoryStore } from './memory-store.js';
import { subStore } from './sub-store.js';

const bytes = (...values: number[]) => new Uint8Array(values);

it('a sub-store has keys of its own, and closing it leaves the underlying store open', async () => {
  await using store = new MemoryStore();
  const [one, other] = [subStore(store, 'one'), subStore(store, 'other')];
  await one.set('key', bytes(1));
  expect(await other.compareSet('key', undefined, bytes(2))).toBe(true);
  expect(await other.add('count', 3)).toBe(3);
  await one.close();
  expect(await one.get('key')).toEqual(bytes(1));
  expect(await store.get('other/key')).toEqual(bytes(2));
  expect(await one.delete('key')).toBe(true);
  expect(await store.delete('one/key')).toBe(false);
});

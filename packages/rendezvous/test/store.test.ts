import { AbortedError, DeadlineExceededError } from '@coll/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../src/index.js';
import { type SharedTable, tables } from './stores.js';

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const textOf = (value: Uint8Array) => Buffer.from(value).toString();

describe.each(Object.entries(tables))('the store %s', (_, make) => {
  let table: SharedTable;
  let opened: Store[] = [];
  let names = 0;

  beforeAll(async () => {
    table = await make();
  });
  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()));
    opened = [];
  });
  afterAll(() => table.close());

  const open = async () => {
    const store = await table.open();
    opened.push(store);
    return store;
  };
  const newKey = () => `key ${names++} / ü?*`;

  it('stores values that other members can read', async () => {
    const [one, other] = [await open(), await open()];
    const key = newKey();
    for (const value of [Uint8Array.from({ length: 256 }, (__, index) => index), bytes(''), bytes('again')]) {
      await one.set(key, value);
      expect(await other.get(key)).toEqual(value);
    }
    expect(await other.get(key)).toEqual(bytes('again'));
  });

  it('accepts values of one mebibyte and keys of 512 bytes', async () => {
    const [one, other] = [await open(), await open()];
    const key = `${newKey()} ${'x'.repeat(480)}`;
    const large = new Uint8Array(2 ** 20).fill(7);
    await one.set(key, large);
    expect(Buffer.compare(await other.get(key), large)).toBe(0);
  });

  it('returns copies of values', async () => {
    const store = await open();
    const [key, value] = [newKey(), bytes('abc')];
    await store.set(key, value);
    value.fill(0);
    (await store.get(key)).fill(0);
    expect(textOf(await store.get(key))).toBe('abc');
  });

  it('waits for a missing value', async () => {
    const [one, other] = [await open(), await open()];
    const key = newKey();
    const waiting = [one.get(key), other.get(key, { timeoutSeconds: 30 })];
    setTimeout(() => void one.set(key, bytes('there')), 30);
    expect((await Promise.all(waiting)).map(textOf)).toEqual(['there', 'there']);
  });

  it('waits for several keys at once, and returns their values in order', async () => {
    const [one, other] = [await open(), await open()];
    const keys = [newKey(), newKey(), newKey()] as const;
    await one.set(keys[1], bytes('second'));
    const found = other.getAll?.(keys, { timeoutSeconds: 30 });
    await one.set(keys[2], bytes('third'));
    await one.set(keys[0], bytes('first'));
    expect((await found)?.map(textOf)).toEqual(['first', 'second', 'third']);
  });

  it('reads several values that have more than a mebibyte together', async () => {
    const [one, other] = [await open(), await open()];
    const large = [1, 2, 3].map((fill) => ({ key: newKey(), value: new Uint8Array(2 ** 19 + 1).fill(fill) }));
    for (const { key, value } of large) await one.set(key, value);
    const found = (await other.getAll?.(large.map(({ key }) => key))) ?? [];
    expect(found.map((value, index) => Buffer.compare(value, large[index]?.value ?? bytes('')))).toEqual([0, 0, 0]);
  });

  it('adds to counters atomically', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, open));
    const key = newKey();
    const sums = await Promise.all(Array.from({ length: 20 }, (__, index) => (stores[index % 4] as Store).add(key, 2)));
    expect(sums.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (__, index) => 2 * index + 2));
    expect(await stores[0]?.add(key, -41)).toBe(-1);
    expect(textOf((await stores[1]?.get(key)) as Uint8Array)).toBe('-1');
  });

  it('refuses to add to a value that is not a number, or beyond safe integers', async () => {
    const store = await open();
    const key = newKey();
    for (const text of ['many', '1.5', '', '99999999999999999', String(Number.MAX_SAFE_INTEGER)]) {
      await store.set(key, bytes(text));
      const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'add' };
      await expect(store.add(key, 1), text).rejects.toMatchObject(refused);
      expect(textOf(await store.get(key))).toBe(text);
    }
    expect(await store.add(key, -1)).toBe(Number.MAX_SAFE_INTEGER - 1);
  });

  it('writes by compareSet only if the current value is the expected one', async () => {
    const store = await open();
    const key = newKey();
    expect(await store.compareSet(key, bytes('a'), bytes('b'))).toBe(false);
    expect(await store.compareSet(key, undefined, bytes(''))).toBe(true);
    expect(await store.compareSet(key, undefined, bytes('b'))).toBe(false);
    expect(await store.compareSet(key, bytes(''), bytes('c'))).toBe(true);
    expect(await store.compareSet(key, bytes('b'), bytes('d'))).toBe(false);
    expect(textOf(await store.get(key))).toBe('c');
  });

  it('supports compareSet for values of one mebibyte', async () => {
    const store = await open();
    const key = newKey();
    const [first, second] = [new Uint8Array(2 ** 20).fill(1), new Uint8Array(2 ** 20).fill(2)];
    await store.set(key, first);
    expect([await store.compareSet(key, second, first), await store.compareSet(key, first, second)]).toEqual([
      false,
      true,
    ]);
    expect((await store.get(key)).at(-1)).toBe(2);
  });

  it('lets exactly one of many compareSet calls succeed', async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, open));
    const key = newKey();
    const won = await Promise.all(stores.map((store, index) => store.compareSet(key, undefined, bytes(String(index)))));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(textOf(await (stores[0] as Store).get(key))).toBe(String(won.indexOf(true)));
  });

  it('deletes values', async () => {
    const store = await open();
    const key = newKey();
    expect(await store.delete(key)).toBe(false);
    await store.set(key, bytes('a'));
    expect([await store.delete(key), await store.delete(key)]).toEqual([true, false]);
    await expect(store.get(key, { timeoutSeconds: 0.02 })).rejects.toThrow(DeadlineExceededError);
    expect(await store.compareSet(key, undefined, bytes('b'))).toBe(true);
    expect(textOf(await store.get(key))).toBe('b');
  });

  it('stops waiting for a value at the timeout or when the signal is aborted', async () => {
    const store = await open();
    const key = newKey();
    const abort = new AbortController();
    const waiting = store.get(key, { signal: abort.signal });
    await expect(store.get(key, { timeoutSeconds: 0.05 })).rejects.toMatchObject({
      name: 'DeadlineExceededError',
      message: expect.stringContaining(`"${key}" had no value after 0.05 seconds`),
    });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toMatchObject({ name: 'AbortedError', cause: new Error('enough') });
    await expect(store.get(key, { signal: AbortSignal.abort() })).rejects.toThrow(AbortedError);
    await store.set(key, bytes('late'));
    expect(textOf(await store.get(key))).toBe('late');
  });

  it('rejects waiting calls when it is closed, and all later calls', async () => {
    const store = await open();
    const waiting = store.get(newKey());
    const ended = expect(waiting).rejects.toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CLOSED' });
    await store.close();
    await ended;
    for (const call of [
      () => store.set('a', bytes('')),
      () => store.get('a'),
      () => store.add('a', 1),
      () => store.compareSet('a', undefined, bytes('')),
      () => store.delete('a'),
    ]) {
      await expect(call()).rejects.toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CLOSED' });
    }
  });

  it('refuses invalid keys, values and amounts', async () => {
    const store = await open();
    const large = new Uint8Array(2 ** 20 + 1);
    for (const key of ['', 'x'.repeat(513), 'ü'.repeat(257), 1 as never])
      for (const [operation, call] of [
        ['set', () => store.set(key, bytes(''))],
        ['get', () => store.get(key)],
        ['add', () => store.add(key, 1)],
        ['compare-set', () => store.compareSet(key, undefined, bytes(''))],
        ['delete', () => store.delete(key)],
      ] as const)
        await expect(call()).rejects.toMatchObject({ name: 'ValueError', operation });
    await expect(store.set('a', large)).rejects.toThrow('1048577 bytes');
    for (const [expected, desired] of [
      [large, bytes('')],
      [undefined, large],
    ] as const) {
      const refused = { name: 'ValueError', operation: 'compare-set' };
      await expect(store.compareSet('a', expected, desired)).rejects.toMatchObject(refused);
    }
    await expect(store.set('a', 'text' as never)).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
    for (const amount of [0.5, Number.NaN, 2 ** 53])
      await expect(store.add('a', amount)).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  });
});

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { UnavailableError } from '@coll/core';
import { afterEach, expect, it, vi } from 'vitest';
import { EtcdStore, FileStore, type RedisClient, RedisStore, type Store } from '../src/index.js';
import { EtcdDouble } from './etcd-double.js';
import { RedisDouble } from './redis-double.js';

afterEach(() => {
  vi.restoreAllMocks();
});

// Discard: nobody listens there.
const nowhere = '127.0.0.1:9';
const gone = () => Promise.reject(new Error('the connection is closed'));
const lostClient: RedisClient = { getBuffer: gone, set: gone, del: gone, eval: gone };

it.each<[string, () => Store | Promise<Store>]>([
  ['FileStore', () => new FileStore({ folder: path.join(fileURLToPath(import.meta.url), 'no-folder') })],
  ['RedisStore', () => RedisStore.connect({ redis: lostClient, job: 'lost', outageSeconds: 0 })],
  ['EtcdStore', () => new EtcdStore({ url: `http://${nowhere}`, job: 'lost', outageSeconds: 0 })],
])('an unreachable %s is reported with a CollError', async (_, make) => {
  await using store = await make();
  const value = Buffer.of(1);
  for (const call of [
    () => store.set('a', value),
    () => store.get('a'),
    () => store.add('a', 1),
    () => store.compareSet('a', undefined, value),
    () => store.delete('a'),
  ]) {
    const error: unknown = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ code: 'ERR_COLL_STORE', operation: expect.any(String) });
  }
});

it('RedisStore reports a command that Redis refuses', async () => {
  // As ioredis tells of an answer that is an error.
  const refuse = () =>
    Promise.reject(Object.assign(new Error('NOAUTH Authentication required.'), { name: 'ReplyError' }));
  const redis: RedisClient = { getBuffer: refuse, set: refuse, del: refuse, eval: refuse };
  await using store = await RedisStore.connect({ redis, job: 'closed' });
  const refused = { name: 'CollError', message: 'set: Redis refused the command: NOAUTH Authentication required.' };
  await expect(store.set('a', Buffer.of(1))).rejects.toMatchObject({
    ...refused,
    code: 'ERR_COLL_STORE',
    operation: 'set',
  });
  await expect(store.get('a')).rejects.toThrow('get: Redis refused the command: NOAUTH');
});

it.each(['mod_revision', 'modRevision'])('EtcdStore accepts the key revision under the name %s', async (name) => {
  const double = await EtcdDouble.listen(name);
  await using store = new EtcdStore({ url: double.url, job: 'named' });
  await store.set('count', Buffer.from('2'));
  expect([await store.add('count', 3), await store.compareSet('count', Buffer.from('5'), Buffer.of())]).toEqual([
    5,
    true,
  ]);
  await double.close();
});

it('EtcdStore stops retrying if etcd returns no key revision', async () => {
  const double = await EtcdDouble.listen('version');
  await using store = new EtcdStore({ url: double.url, job: 'none' });
  await store.set('count', Buffer.from('2'));
  await expect(store.add('count', 1)).rejects.toMatchObject({ code: 'ERR_COLL_STORE', message: /tells no revision/ });
  await double.close();
});

it('RedisStore waits for a Redis that is not started yet without printing anything, and closes at once', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
  const store = await RedisStore.connect({ redis: `redis://${nowhere}`, job: 'early' });
  await expect(store.get('a', { timeoutSeconds: 0.3 })).rejects.toThrow('"a" had no value after 0.3 seconds');
  const begun = performance.now();
  await store.close();
  expect(performance.now() - begun).toBeLessThan(30_000);
  expect(printed).not.toHaveBeenCalled();
});

it('RedisStore and EtcdStore require a job, and FileStore requires a folder', async () => {
  await expect(RedisStore.connect({ redis: lostClient } as never)).rejects.toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_VALUE',
  });
  expect(() => new EtcdStore({ url: `http://${nowhere}` } as never)).toThrow(
    expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
  );
  for (const options of [undefined, {}, { folder: '' }])
    expect(() => new FileStore(options as never)).toThrow('folder must be a path');
  expect(() => new FileStore('/tmp/job' as never)).toThrow("options must be an object, { folder: '/shared/job' }");
});

it('RedisStore does not repeat a call that Redis executed, even if the answer was lost', async () => {
  const double = await RedisDouble.listen();
  await using store = await RedisStore.connect({ redis: double.url, job: 'lossy' });
  expect(await store.add('count', 1)).toBe(1);
  double.loseNextAnswer();
  await expect(store.add('count', 1)).rejects.toThrow(UnavailableError);
  expect(await store.add('count', 0)).toBe(2);
  await store.close();
  await double.close();
});

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CollError } from '@coll/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { joinGroup, memberFromEnvironment, storeFromEnvironment, TcpStoreServer } from '../src/index.js';

describe('storeFromEnvironment', () => {
  it('connects the members of a launched job', async () => {
    const jobKey = TcpStoreServer.newKey();
    await using server = await TcpStoreServer.listen({ job: 'here', jobKey });
    const ranks = ['0', '1'].map(async (rank) => {
      const environment = { COLL_STORE: server.address, COLL_JOB: 'here', COLL_JOB_KEY: jobKey };
      await using store = await storeFromEnvironment(environment);
      const member = memberFromEnvironment({ COLL_RANK: rank, COLL_SIZE: '2', COLL_GENERATION: '3' });
      expect(member).toEqual({ generation: 3, rank: Number(rank), size: 2 });
      const cards = await joinGroup(store, { ...member, card: Buffer.from(`rank ${rank}`) });
      return cards.map((card) => Buffer.from(card).toString());
    });
    for (const cards of await Promise.all(ranks)) expect(cards).toEqual(['rank 0', 'rank 1']);
  });

  it('takes the key from a file, and waits for no writer of a FIFO', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'coll-store-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [file, fifo] = [path.join(folder, 'job.key'), path.join(folder, 'fifo')];
    const jobKey = TcpStoreServer.newKey();
    writeFileSync(file, `${jobKey}\n`, { mode: 0o600 });
    execFileSync('mkfifo', ['-m', '600', fifo]);
    await using server = await TcpStoreServer.listen({ job: 'here', jobKey });
    const environment = { COLL_STORE: server.address, COLL_JOB: 'here' };
    await using store = await storeFromEnvironment({ ...environment, COLL_JOB_KEY_FILE: file });
    expect(await store.add('arrived', 1)).toBe(1);
    await expect(storeFromEnvironment({ ...environment, COLL_JOB_KEY_FILE: fifo })).rejects.toThrow('is not a file');
  });

  it.each(['COLL_STORE', 'COLL_JOB', 'COLL_JOB_KEY'])('reports that %s is missing', async (name) => {
    const environment = { COLL_STORE: 'tcp://127.0.0.1:1', COLL_JOB: 'here', COLL_JOB_KEY: TcpStoreServer.newKey() };
    const opening = storeFromEnvironment({ ...environment, [name]: '' });
    await expect(opening).rejects.toThrow(`the environment variable ${name} is not set: start the program with`);
    await expect(opening).rejects.toThrow(CollError);
  });
});

describe('memberFromEnvironment', () => {
  it('returns generation 0 if COLL_GENERATION is not set', () => {
    expect(memberFromEnvironment({ COLL_RANK: '1', COLL_SIZE: '4' })).toEqual({ generation: 0, rank: 1, size: 4 });
  });

  it.each([
    [{ COLL_SIZE: '2' }, /COLL_RANK is not set/],
    [{ COLL_RANK: '0' }, /COLL_SIZE is not set/],
    [{ COLL_RANK: '-1', COLL_SIZE: '2' }, /COLL_RANK must be a whole number, 0 or more, got "-1"/],
    [{ COLL_RANK: '0', COLL_SIZE: '1e1' }, /COLL_SIZE must be a whole number/],
    [{ COLL_RANK: '0', COLL_SIZE: '1', COLL_GENERATION: 'x' }, /COLL_GENERATION must be a whole number/],
  ])('refuses %j', (environment, message) => {
    expect(() => memberFromEnvironment(environment)).toThrow(message);
    expect(() => memberFromEnvironment(environment)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });
});

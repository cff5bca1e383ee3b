import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FileStore, joinGroup, MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { jobStore, release } from '@coll/rendezvous/internal';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenProcessGroupOptions, openProcessGroup } from '../src/index.js';

const jobKey = TcpStoreServer.newKey();

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'coll-shared-store-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('one folder of a FileStore', () => {
  /** Opens a group of two members, both in this process. */
  async function pair(options: OpenProcessGroupOptions = {}) {
    const common = { jobKey, size: 2, timeoutSeconds: 60, ...options };
    const open = (rank: number) => openProcessGroup({ ...common, store: new FileStore({ folder }), rank });
    return await Promise.all([open(0), open(1)]);
  }

  it('serves one run after the other if each of them ends well', async () => {
    for (const generation of [0, 0, 3, 0]) {
      const members = await pair({ generation });
      await Promise.all(members.map((member) => member.barrier()));
      await Promise.all(members.map((member) => member.close()));
    }
  });

  it('serves several jobs at once and one after the other', async () => {
    const monday = await pair({ job: 'monday' });
    const tuesday = await pair({ job: 'tuesday' });
    await Promise.all([...monday, ...tuesday].map((member) => member.close()));
    const again = await pair({ job: 'monday' });
    await Promise.all(again.map((member) => member.close()));
  });

  it('names what to set after a run that has failed', async () => {
    const failed = await pair();
    failed[0].fail(new Error('out of memory'));
    await expect.poll(() => failed.every((member) => member.failure() !== undefined)).toBe(true);
    await Promise.all(failed.map((member) => member.close()));
    const advice =
      'another run needs generation 1 or higher on all members (generation or COLL_GENERATION), or a job or store';
    await expect(pair()).rejects.toThrow(advice);
    const next = await pair({ generation: 1 });
    await Promise.all(next.map((member) => member.close()));
    const other = await pair({ job: 'other' });
    await Promise.all(other.map((member) => member.close()));
  });
});

it('members of different releases are refused with an error that names both', async () => {
  const store = new MemoryStore();
  const first = openProcessGroup({ store, rank: 0, size: 2, jobKey, job: 'release' });
  const settings = { release: '0.0.7', version: 3 };
  const other = joinGroup(jobStore(store, 'release'), { rank: 1, size: 2, card: new Uint8Array(), settings });
  for (const refused of await Promise.allSettled([first, other])) {
    expect(refused).toMatchObject({ reason: { name: 'CollError', code: 'ERR_COLL_STORE' } });
    const { message } = (refused as PromiseRejectedResult).reason;
    expect(message).toContain(`release "${release}"`);
    expect(message).toContain('release "0.0.7"');
  }
});

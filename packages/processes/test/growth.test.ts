import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tensor } from '@coll/core';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { MemoryStore, type Store } from '@coll/rendezvous';
import { ringAlgorithm } from '@coll/ring';
import { expect, it, vi } from 'vitest';
import { type OpenedProcessGroup, openProcessGroup } from '../src/index.js';

const jobKey = 'tests-only-4kQz9XvB7mLwR2';
const maxBytes = 1 << 20;

const established = '01';

/** The number of ends of established TCP connections that this process has. */
function connectionEnds(): number {
  const own = new Set(readdirSync('/proc/self/fd').map((name) => /^socket:\[(\d+)\]$/.exec(linkOf(name))?.[1]));
  const lines = readFileSync('/proc/self/net/tcp', 'utf8').trim().split('\n').slice(1);
  return lines.filter((line) => {
    const fields = line.trim().split(/\s+/);
    return fields[3] === established && own.has(fields[9]);
  }).length;
}

function linkOf(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`);
  } catch {
    // Closed meanwhile, such as the folder itself.
    return '';
  }
}

/** A store that counts the requests of one member. */
function counted(store: Store): { readonly store: Store; readonly requests: () => number } {
  let requests = 0;
  const counting = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        requests++;
        return value.apply(target, given);
      };
    },
  });
  return { store: counting, requests: () => requests };
}

/** Opens a group of members of this process, and counts what each of them needs. */
async function open(size: number, transport: 'shared-memory' | 'tcp' = 'shared-memory') {
  const before = connectionEnds();
  const store = new MemoryStore();
  const stores = Array.from({ length: size }, () => counted(store));
  const groups = await Promise.all(
    stores.map((own, rank) =>
      openProcessGroup({ store: own.store, rank, size, jobKey, maxBytes, transport, timeoutSeconds: 120 }),
    ),
  );
  const connections = () => (connectionEnds() - before) / size;
  return { groups, connections, requests: stores.map((own) => own.requests()) };
}

function close(groups: readonly OpenedProcessGroup[]): Promise<unknown> {
  return Promise.all(groups.map((group) => group.close()));
}

it.each([8, 16, 32, 64])(
  'a member of %i needs few connections and requests to the store',
  async (size) => {
    const { groups, connections, requests } = await open(size);
    expect(groups.map((group) => group.explain().player)).toEqual(Array(size).fill('shared-memory'));
    // Those with its neighbours, and two that only served to open the group and may still be open.
    const most = 2 * Math.log2(size) - 1 + 2;
    await vi.waitFor(() => expect(connections()).toBeLessThanOrEqual(most), { timeout: 20_000 });
    expect(Math.max(...requests)).toBeLessThanOrEqual(16);
    await Promise.all(groups.map((group) => group.allReduce('sum', new Float32Array([1]))));
    expect(connections()).toBeLessThanOrEqual(most);
    await close(groups);
    // Members that have closed a group keep their connections for a moment.
    await vi.waitFor(() => expect(connections()).toBe(0), { timeout: 20_000 });
  },
  120_000,
);

it.each([
  ['ring', 8, ringAlgorithm(), 2],
  ['ring', 32, ringAlgorithm(), 2],
  // Each member but one has a connection with that one.
  ['reduction to one', 32, reductionToOneAlgorithm(), (2 * 31) / 32],
])(
  'members over TCP make only the data connections that their calls need: %s of %i',
  async (_, size, algorithm, expected) => {
    const { groups, connections } = await open(size, 'tcp');
    const controls = 2 * Math.log2(size) - 1;
    await vi.waitFor(() => expect(connections()).toBe(controls), { timeout: 20_000 });
    for (let call = 0; call < 2; call++) {
      const results = await Promise.all(
        groups.map((group) => {
          const values = tensor(new Float32Array(2 ** 14).fill(1));
          return group
            .communicator(algorithm)
            .run({ kind: 'all-reduce', op: 'sum' }, [values], [values])
            .then(() => values.data);
        }),
      );
      for (const data of results) expect(new Set(data)).toEqual(new Set([size]));
      // The system may list an end twice, or one whose peer has gone, while connections change.
      await vi.waitFor(() => expect(connections() - controls).toBeCloseTo(expected), { timeout: 20_000 });
    }
    await close(groups);
    await vi.waitFor(() => expect(connections()).toBe(0), { timeout: 20_000 });
  },
  120_000,
);

it('a member of 32 gets the failure of a member with which it has no connection', async () => {
  const { groups } = await open(32);
  const calls = groups.slice(1).map((group) => group.allReduce('sum', new Float32Array([1])));
  groups[0]?.fail(new Error('no more data'));
  for (const outcome of await Promise.allSettled(calls)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { rank: 0, code: 'ERR_COLL_PEER_FAILED' } });
  }
  await close(groups);
}, 120_000);

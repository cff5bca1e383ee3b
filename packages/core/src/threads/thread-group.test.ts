import { directAlgorithm } from '@coll/direct';
import { afterEach, describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { resolveEngine } from '../engines/engines.js';
import { joinThreadGroup } from '../engines/open-members.js';
import { jsEngine } from '../js/js-engine.js';
import type { Member } from '../members/member.js';
import type { ThreadGroup } from '../runtime/engine.js';
import { toNumbers } from '../values/element.js';
import { tensor } from '../values/tensor.js';
import { wasmEngine } from '../wasm/wasm-engine.js';
import { SharedBarrier } from './shared-barrier.js';
import { createThreadGroup, failThreadGroup } from './thread-group.js';

describe('createThreadGroup', () => {
  it('returns an object that can be posted to threads', () => {
    const group = createThreadGroup({ size: 3, maxBytes: 2 ** 16, spins: 7 });
    const posted = structuredClone(group) as ThreadGroup;
    expect(posted).toMatchObject({ size: 3, spins: 7 });
    expect(posted.arena.bytes.maxByteLength).toBe(2 ** 16);
    new Int32Array(group.arena.used)[0] = 5;
    expect(new Int32Array(posted.arena.used)[0]).toBe(5);
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses %d ranks', (size) => {
    expect(thrown(() => createThreadGroup({ size }))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: `a group must have 1 rank or more, got ${size}`,
    });
  });

  it('refuses more memory than kernels can address', () => {
    expect(thrown(() => createThreadGroup({ size: 1, maxBytes: 2 ** 40 }))).toMatchObject({ code: 'ERR_COLL_VALUE' });
  });
});

describe('a page without cross-origin isolation', () => {
  const shared = Object.getOwnPropertyDescriptor(globalThis, 'SharedArrayBuffer') as PropertyDescriptor;
  afterEach(() => Object.defineProperty(globalThis, 'SharedArrayBuffer', shared));

  it('gets the js engine, and an error that names the two missing headers for a group of threads', async () => {
    Reflect.deleteProperty(globalThis, 'SharedArrayBuffer');
    const { engine } = resolveEngine('js');
    const error = thrown(() => engine.createGroup({ size: 2 }));
    expect(error).toMatchObject({ name: 'CollError', code: 'ERR_COLL_NO_ENGINE' });
    expect(String(error)).toContain('Cross-Origin-Opener-Policy: same-origin');
    expect(String(error)).toContain('Cross-Origin-Embedder-Policy: require-corp');
    expect(String(error)).toContain('keep all ranks in one thread');
    const buffers = [tensor(Float32Array.of(1, 2)), tensor(Float32Array.of(3, 4))];
    const communicator = engine.communicator(2, directAlgorithm());
    await communicator.run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
    await communicator.close();
    expect(buffers.map(toNumbers)).toEqual([
      [4, 6],
      [4, 6],
    ]);
  });
});

describe('failThreadGroup', () => {
  it.each([
    [undefined, 'ERR_COLL_PEER_FAILED'],
    ['closed', 'ERR_COLL_CLOSED'],
  ] as const)('ends the group for the reason %s, from any thread', (reason, code) => {
    const group = createThreadGroup({ size: 2, maxBytes: 2 ** 16 });
    failThreadGroup(structuredClone(group), 1, 'is gone', reason);
    expect(new SharedBarrier(group.control, 2, 0).failure('all-gather')).toMatchObject({
      code,
      rank: 1,
      message: 'all-gather: rank 1 is gone',
    });
  });
});

describe.each([jsEngine, wasmEngine])('an error of a group of threads that was split ($name)', (engine) => {
  it('has the ranks of this group and of the whole group', async () => {
    const name = 'rank 1 (rank 2 of the whole group)';
    const open = async () => {
      const group = engine.createGroup({ size: 3, spins: 0 });
      const members = [0, 1, 2].map((rank) => joinThreadGroup(group, { rank, algorithm: directAlgorithm() }));
      const parts = await Promise.all(members.map((member) => member.split(Math.min(member.rank, 1))));
      return [...(parts as Member[]), ...members] as [Member, Member, Member, ...Member[]];
    };
    const closing = await open();
    await closing[2].close();
    await expect(closing[1].barrier()).rejects.toMatchObject({
      ...{ code: 'ERR_COLL_CLOSED', rank: 1, ranks: [1], wholeRanks: [2] },
      message: `barrier: ${name} has left the group`,
    });
    const differing = await open();
    const calls = [
      differing[1].allReduce('sum', Float32Array.of(1)),
      differing[2].allReduce('max', Float32Array.of(1)),
    ];
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ reason: { message: expect.stringContaining(name) } });
    for (const member of [...closing, ...differing]) await member.close();
  });
});

import { constants } from 'node:buffer';
import { type Communicator, type Tensor, tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { expect, it, vi } from 'vitest';
import { type OpenedProcessGroup, openProcessGroup } from '../src/index.js';
import { processBinding } from '../src/process-binding.js';
import { ProcessCommunicator } from '../src/process-communicator.js';
import { NativeProcessGroup } from '../src/process-group.js';
import { resourcesOfThisProcess } from './faults/resources.js';

const jobKey = TcpStoreServer.newKey();
const sum = { kind: 'all-reduce', op: 'sum' } as const;

it('a call refuses an output that overlaps another segment of the same rank', async () => {
  await using group = await openProcessGroup({ store: new MemoryStore(), rank: 0, size: 1, jobKey });
  const communicator = group.communicator(directAlgorithm());
  const memory = new Float32Array(12);
  const at = (begin: number) => tensor(memory.subarray(begin, begin + 4));
  const clash = { name: 'ValueError', code: 'ERR_COLL_BUFFER', rank: 0 };
  await expect(communicator.run(sum, [[at(0), at(4)]], [[at(4), at(8)]])).rejects.toMatchObject(clash);
  await expect(communicator.run(sum, [[at(0), at(4)]], [[at(8), at(6)]])).rejects.toMatchObject(clash);
  memory.fill(1);
  await communicator.run(sum, [[at(0), at(4)]], [[at(0), at(8)]]);
  expect([...memory]).toEqual(Array(12).fill(1));
});

it.each(['useMessages', 'useSharedMemory'] as const)(
  'opening a group fails, or its calls fail, on all ranks if one cannot create its executor: %s',
  async (how) => {
    const broken = vi.spyOn(NativeProcessGroup.prototype, how).mockImplementationOnce(() => {
      throw new Error('its addon is too old');
    });
    const store = new MemoryStore();
    const transport = how === 'useSharedMemory' ? 'shared-memory' : 'tcp';
    const open = (rank: number) => openProcessGroup({ store, rank, size: 2, jobKey, transport, timeoutSeconds: 120 });
    const results = await Promise.allSettled([open(0), open(1)]);
    broken.mockRestore();
    const groups = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
    for (const group of groups) {
      const [input, output] = [tensor(new Float32Array(4)), tensor(new Float32Array(4))];
      const failure = await group
        .communicator(directAlgorithm())
        .run(sum, [input], [output])
        .catch((error) => error);
      expect(failure).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 - group.rank });
      expect(failure.message).toMatch(/cannot create its executor: its addon is too old/);
      await group.close();
    }
    const failures = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
    expect(failures).toHaveLength(2 - groups.length);
    expect(failures).toContainEqual(
      expect.objectContaining(unable(/^rank [01] cannot open a group: its addon is too old$/)),
    );
    expect(groups.length).toBeLessThan(2);
  },
);

it.each(['shared-memory', 'tcp'] as const)('members compare results with checkResults: %s', async (transport) => {
  const { run } = ProcessCommunicator.prototype;
  vi.spyOn(ProcessCommunicator.prototype, 'run').mockImplementation(async function (this: Communicator, ...call) {
    await run.apply(this, call);
    if (this.localRanks[0] === 1 && call[0].kind === 'broadcast') (call[2][0] as Tensor<'float32'>).data[0] = 7;
  });
  const store = new MemoryStore();
  const same = { store, size: 3, jobKey, transport, checkResults: 3, timeoutSeconds: 120 };
  const groups = await Promise.all([0, 1, 2].map((rank) => openProcessGroup({ ...same, rank })));
  const broadcast = () => groups.map((group) => group.broadcast(0, new Float32Array([group.rank])));
  await Promise.all([...broadcast(), ...broadcast()]);
  for (const result of await Promise.allSettled(broadcast()))
    expect(result).toMatchObject({ reason: { name: 'InternalError', code: 'ERR_COLL_MISMATCH', rank: 1 } });
  await expect(groups[0]?.barrier()).rejects.toThrow('the result of rank 1 differs from that of ranks 0, 2');
  vi.restoreAllMocks();
  await Promise.all(groups.map((group) => group.close()));
});

it('opening a group throws a CollError if system resources are used up', async () => {
  vi.spyOn(processBinding().processes, 'group').mockImplementationOnce(() => {
    throw new Error('too many open files');
  });
  const opening = openProcessGroup({ store: new MemoryStore(), rank: 0, size: 1, jobKey });
  await expect(opening).rejects.toMatchObject(unable(/^rank 0 cannot open a group: too many open files$/));
});

function unable(message: RegExp) {
  const details = { operation: 'open a group', message: expect.stringMatching(message) };
  return { name: 'RuntimeError', code: 'ERR_COLL_CLUSTER', ...details };
}

it('a group can be opened with little memory for tensors, and allocate throws when it is used up', async () => {
  const store = new MemoryStore();
  const open = (rank: number) => openProcessGroup({ store, rank, size: 2, jobKey, maxBytes: 1 << 16 });
  const [first, second] = await Promise.all([open(0), open(1)]);
  const communicators = [first, second].map((group) => group.communicator(directAlgorithm()));
  const inputs = communicators.map((communicator) => communicator.group.allocate('float32', 1000) as never);
  await Promise.all(
    communicators.map((communicator, rank) => communicator.run(sum, [inputs[rank] as never], [inputs[rank] as never])),
  );
  expect(() => communicators[0]?.group.allocate('float32', 1 << 20)).toThrow(
    expect.objectContaining({ code: 'ERR_COLL_BUFFER' }),
  );
  await Promise.all([first.close(), second.close()]);
});

it('a closed group keeps only the memory of its tensors', async () => {
  const before = resourcesOfThisProcess();
  const store = new MemoryStore();
  for (let generation = 0; generation < 3; generation++) {
    const open = (rank: number) => openProcessGroup({ store, rank, size: 2, jobKey, generation });
    const groups = await Promise.all([open(0), open(1)]);
    const own = (groups[0] as OpenedProcessGroup).communicator(directAlgorithm()).group;
    const kept = own.allocate('float32', 4);
    await Promise.all(groups.map((group) => group.close()));
    expect(() => own.allocate('float32', 4)).toThrow(expect.objectContaining({ code: 'ERR_COLL_CLOSED' }));
    expect([...(kept?.data ?? [])]).toEqual([0, 0, 0, 0]);
  }
  // A member's own and that of the other, for the tensor.
  const more = () => resourcesOfThisProcess().descriptors - before.descriptors;
  // A socket that was closed is gone some turns later.
  await expect.poll(more).toBeLessThanOrEqual(3 * 2);
});

it('repeated calls of close return the same promise', async () => {
  const store = new MemoryStore();
  const open = (rank: number) => openProcessGroup({ store, rank, size: 2, jobKey });
  const groups = await Promise.all([open(0), open(1)]);
  const [first] = groups as [OpenedProcessGroup, OpenedProcessGroup];
  expect(first.close()).toBe(first.close());
  await Promise.all(groups.map((group) => group.close()));
});

it.each([
  [Symbol('stop'), 'Symbol(stop)'],
  [Object.create(null), 'an object (no prototype)'],
])('a group can be failed and aborted with any thrown value: %s', async (thrown, words) => {
  for (const how of ['fail', 'abort'] as const) {
    const store = new MemoryStore();
    const open = (rank: number) => openProcessGroup({ store, rank, size: 2, jobKey });
    const groups = await Promise.all([open(0), open(1)]);
    const controller = new AbortController();
    const { signal } = controller;
    const [values, [first, second]] = [tensor(new Float32Array(4)), groups];
    const running = first.communicator(directAlgorithm()).run(sum, [values], [values], { signal });
    if (how === 'fail') second.fail(thrown);
    else controller.abort(thrown);
    const code = how === 'fail' ? 'ERR_COLL_PEER_FAILED' : 'ERR_COLL_ABORTED';
    await expect(running).rejects.toMatchObject({ code });
    expect(second.failure()?.message).toContain(words);
    await Promise.all(groups.map((group) => group.close()));
  }
});

it('allocate refuses a tensor longer than the longest buffer of Node', async () => {
  const alone = { store: new MemoryStore(), rank: 0, size: 1, jobKey };
  await using group = await openProcessGroup({ ...alone, maxBytes: 2 ** 40 });
  const own = group.communicator(directAlgorithm()).group;
  const longer = constants.MAX_LENGTH / 4 + 16;
  expect(() => own.allocate('float32', longer)).toThrow(expect.objectContaining({ code: 'ERR_COLL_BUFFER' }));
});

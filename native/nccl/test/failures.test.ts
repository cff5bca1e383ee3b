import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CollError, type Communicator, type RunOptions, type Tensor, tensor } from '@coll/core';
import { counts, flightRecorder, gpus, type JoinRequest, NcclCommunicator } from '@coll/nccl';
import { MemoryStore } from '@coll/rendezvous';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fourGpus } from './doubles.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'coll-nccl-'));
const control = path.join(folder, 'control');
process.env['COLL_DOUBLE_CONTROL'] = control;
/** What goes wrong from now on. */
const letFail = (...lines: readonly string[]) => writeFileSync(control, `${lines.join('\n')}\n`);

const sum = { kind: 'all-reduce', op: 'sum' } as const;

function tensorsFor({ localRanks }: Communicator, length = 2): Tensor[] {
  return localRanks.map((rank) => tensor(new Float32Array(length).fill(rank + 1)));
}

async function addUp(communicator: Communicator, options?: RunOptions): Promise<Tensor[]> {
  const values = tensorsFor(communicator);
  await communicator.run(sum, values, values, options);
  return values;
}

const failure = (call: Promise<unknown>): Promise<CollError> =>
  call.then(
    () => expect.fail('it must fail'),
    (error: CollError) => error,
  );

describe('failures of NCCL', () => {
  beforeAll(() => letFail());
  afterEach(() => letFail());
  afterAll(() => rmSync(folder, { recursive: true }));

  it('the error of a collective that times out names the operation, its number and the group', async () => {
    const communicator = await NcclCommunicator.open(fourGpus.slice(0, 2), { name: 'slow ones' });
    await addUp(communicator);
    letFail('stuck collective');
    const first = failure(addUp(communicator, { timeoutSeconds: 0.2 }));
    const behind = failure(addUp(communicator));
    const error = await first;
    expect(error).toMatchObject({ name: 'DeadlineExceededError', code: 'ERR_COLL_DEADLINE' });
    expect(error.message).toMatch(/^all-reduce of slow ones \(number \d+\): timed out.*latest operations: /);
    expect(await behind).toBeInstanceOf(CollError);
    letFail();
    expect(await failure(addUp(communicator))).toMatchObject({ code: 'ERR_COLL_DEADLINE' });
    await communicator.close();
    await using another = await NcclCommunicator.open(fourGpus.slice(0, 2));
    expect((await addUp(another)).map(({ data }) => [...data])).toEqual([
      [3, 3],
      [3, 3],
    ]);
  });

  it('an asynchronous error of NCCL fails the group', async () => {
    await using communicator = await NcclCommunicator.open(fourGpus.slice(0, 2));
    letFail('stuck collective', 'async 6 rank=0');
    const error = await failure(addUp(communicator, { timeoutSeconds: 240 }));
    expect(error).toMatchObject({ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED' });
  });

  it('a group remains usable after a call that NCCL refuses as invalid', async () => {
    await using communicator = await NcclCommunicator.open(fourGpus.slice(0, 2));
    letFail('fail ncclAllReduce 4 rank=1');
    expect(await failure(addUp(communicator))).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED' });
    letFail();
    expect((await addUp(communicator)).map(({ data }) => data[0])).toEqual([3, 3]);
  });

  it('a group is unusable after an NCCL error other than that of an invalid call', async () => {
    await using communicator = await NcclCommunicator.open(fourGpus.slice(0, 2));
    letFail('fail ncclAllReduce 3 rank=1');
    expect(await failure(addUp(communicator))).toMatchObject({ name: 'CollError', code: 'ERR_COLL_NCCL' });
    letFail();
    expect(await failure(addUp(communicator))).toMatchObject({ code: 'ERR_COLL_NCCL' });
  });

  it('a full /dev/shm is reported as a problem of the machine, not of a peer', async () => {
    letFail('full shm');
    const error = await failure(NcclCommunicator.open(fourGpus.slice(0, 2)));
    expect(error).toMatchObject({ name: 'CollError', code: 'ERR_COLL_NCCL' });
    expect(error.message).toMatch(/^open of local \(number 1\): \/dev\/shm is too small for NCCL: .*--shm-size=1g/);
  });

  it('reading GPU memory rejects if its allocation has failed', async () => {
    const [gpu] = gpus();
    letFail('fail cuMemAllocAsync 2', 'fail cuMemAlloc_v2 2');
    using buffer = gpu?.alloc('float32', 1 << 20);
    const read = failure(buffer?.read() as Promise<unknown>);
    expect(await read).toMatchObject({ code: 'ERR_COLL_BUFFER' });
  });

  it('connecting without a store reports what is missing', async () => {
    const refusal = { code: 'ERR_COLL_VALUE', message: /^connect: give the store/ };
    expect(await failure(NcclCommunicator.connect({ rank: 0, size: 1 } as JoinRequest))).toMatchObject(refusal);
    expect(await failure(NcclCommunicator.connect(undefined as never))).toMatchObject(refusal);
  });

  it('connecting times out if the other processes never join', async () => {
    await using store = new MemoryStore();
    const alone = NcclCommunicator.connect({ store, rank: 1, size: 2, timeoutSeconds: 0.2 });
    expect(await failure(alone)).toMatchObject({ code: 'ERR_COLL_DEADLINE', message: /rank 0 did not arrive/ });
  });

  it('splitting a group rejects if another process leaves meanwhile', async () => {
    await using store = new MemoryStore();
    const connect = (rank: number) =>
      NcclCommunicator.connect({ store, rank, size: 2, devices: [`gpu:${rank}`], group: 'splitting' });
    const [staying, leaving] = await Promise.all([connect(0), connect(1)]);
    const split = failure(staying.split([0]));
    await leaving.close();
    expect(await split).toMatchObject({ code: 'ERR_COLL_CLOSED', rank: 1, message: /^split: rank 1 has left/ });
    await staying.close();
  });

  it('a group ends when the signal of a call is aborted', async () => {
    await using communicator = await NcclCommunicator.open(fourGpus.slice(0, 2));
    letFail('stuck collective');
    const controller = new AbortController();
    const running = failure(addUp(communicator, { signal: controller.signal }));
    setTimeout(() => controller.abort(new Error('enough')), 50);
    expect(await running).toMatchObject({ name: 'AbortedError', cause: { message: 'enough' } });
    expect(await failure(addUp(communicator))).toMatchObject({ code: 'ERR_COLL_ABORTED' });
  });

  it('a group ends together with a split group that shares its resources', async () => {
    await using all = await NcclCommunicator.open(fourGpus);
    const halves = await all.split([0, 0, 1, 1], undefined, { share: true });
    const [first, second] = halves.map(({ communicator }) => communicator) as [NcclCommunicator, NcclCommunicator];
    letFail('stuck collective');
    const controller = new AbortController();
    const running = failure(addUp(first, { signal: controller.signal }));
    controller.abort(new Error('enough'));
    const aborted = { code: 'ERR_COLL_ABORTED' };
    expect(await running).toMatchObject(aborted);
    expect(await failure(addUp(second))).toMatchObject(aborted);
    expect(await failure(addUp(all))).toMatchObject(aborted);
  });

  it('the flight recorder contains the events of a group', async () => {
    await using communicator = await NcclCommunicator.open(fourGpus.slice(0, 2), { name: 'recorded' });
    await addUp(communicator);
    const own = flightRecorder().filter(({ group }) => group === 'recorded');
    expect(own.at(-1)).toMatchObject({ sequence: 2, state: 'done', operation: expect.stringContaining('all-reduce') });
  });

  it('failures leave no communicator open', async () => {
    await expect.poll(() => counts().communicators).toBe(0);
  });
});

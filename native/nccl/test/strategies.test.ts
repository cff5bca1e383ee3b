import { toNumbers } from '@coll/core';
import { bufferOf, flightRecorder, type Gpu, gpus, nccl, toHost } from '@coll/nccl';
import { MirroredStrategy } from '@coll/strategy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fourGpus } from './doubles.ts';
import type { Joined } from './fixtures/joining.ts';
import { type Outcome, train } from './fixtures/training.ts';
import { type GpuAnswer, GpuWorkers } from './gpu-workers.ts';

const onCpus = new Map<number, Promise<Outcome>>();

/** The same training of as many replicas on CPUs. */
function reference(replicas: number): Promise<Outcome> {
  const devices = Array.from({ length: replicas }, (_, index) => `cpu:${index}`);
  const known = onCpus.get(replicas) ?? train(new MirroredStrategy({ devices, crossDeviceOps: 'reduction-to-one' }));
  onCpus.set(replicas, known);
  return known;
}

async function expectAsOnCpus(outcome: Outcome, replicas: number): Promise<void> {
  const { weights, together, ...exact } = await reference(replicas);
  expect(outcome).toMatchObject(exact);
  for (const name of ['weights', 'together'] as const) {
    const wanted = name === 'weights' ? weights : together;
    expect(outcome[name]).toEqual(wanted.map((weight) => expect.closeTo(weight, 5)));
  }
}

describe('MirroredStrategy on GPUs', () => {
  it.each([1, 2, 4])('trains on %i GPUs with the same result as on CPUs', async (count) => {
    await using strategy = new MirroredStrategy({ devices: fourGpus.slice(0, count), crossDeviceOps: nccl });
    const before = flightRecorder().length;
    await expectAsOnCpus(await train(strategy), count);
    expect(flightRecorder().length > before).toBe(true);
    expect((await strategy.explain()).name).toBe('nccl');
  });
});

describe('replicas of one process on GPUs', () => {
  it.each([1, 4])('broadcast and gather the values of %i replicas in GPU memory', async (count) => {
    await using strategy = new MirroredStrategy({ devices: fourGpus.slice(0, count), crossDeviceOps: nccl });
    const found: unknown[] = [];
    await strategy.run(async (replica) => {
      const { replicaIdInSyncGroup: id } = replica;
      const own = await (gpus()[id] as Gpu).upload(new Float32Array(id + 1).fill(id), 'float32');
      const [same, all] = [own.view(0, 1).tensor(), own.tensor()];
      const results = await Promise.all([replica.broadcast(same, count - 1), replica.allGather(all, 0)]);
      const numbers = await Promise.all(results.map(async (result) => toNumbers(await toHost(result))));
      found[id] = [results.map((result) => bufferOf(result).device), numbers];
    });
    const everything = fourGpus.slice(0, count).flatMap((_, id) => new Array<number>(id + 1).fill(id));
    const expected = fourGpus.slice(0, count).map((gpu) => [
      [gpu, gpu],
      [[count - 1], everything],
    ]);
    expect(found).toEqual(expected);
    expect((await strategy.explain()).notes).toEqual([]);
  });
});

interface Added {
  readonly sum: readonly number[];
  readonly notes: readonly string[];
}

interface Joining {
  readonly rounds: readonly { readonly joined: readonly Joined[]; readonly byNccl: readonly string[] }[];
  readonly notes: readonly string[];
}

interface Trained {
  readonly outcome: Outcome;
  readonly byNccl: number;
  readonly notes: readonly string[];
}

async function expectTrained(answers: readonly GpuAnswer<Trained>[], replicas: number): Promise<void> {
  for (const { result, error } of answers) {
    expect(error).toBeUndefined();
    await expectAsOnCpus(result?.outcome as Outcome, replicas);
    expect(result?.byNccl).toBeGreaterThan(0);
    expect(result?.notes).toContainEqual(
      expect.stringMatching(/^NCCL executes all-reduces across the GPUs of all workers/),
    );
  }
}

describe('MultiWorkerMirroredStrategy on GPUs', () => {
  let workers: GpuWorkers;
  beforeAll(async () => {
    workers = await GpuWorkers.start([{}, {}]);
  });
  afterAll(() => workers[Symbol.asyncDispose]());

  it.each(['NCCL', 'AUTO'] as const)(
    'trains with one GPU per worker with the same result as on CPUs, for implementation %s',
    async (implementation) => {
      await expectTrained(await workers.run('trains', (worker) => [`gpu:${worker}`], implementation), 2);
    },
  );

  it('trains with two GPUs per worker with the same result as on CPUs', async () => {
    await expectTrained(await workers.run('trains', (worker) => [`gpu:${2 * worker}`, `gpu:${2 * worker + 1}`]), 4);
  });

  it.each([
    ['one per worker', (worker: number) => [`gpu:${worker}`]],
    ['two per worker', (worker: number) => [`gpu:${2 * worker}`, `gpu:${2 * worker + 1}`]],
  ])('gathers values of different lengths and sparse slices on GPUs: %s', async (_, devicesOf) => {
    const here = devicesOf(0).length;
    const ids = Array.from({ length: 2 * here }, (_, id) => id);
    const row = ids.flatMap((id) => new Array<number>(id + 1).fill(id));
    const expected = {
      shape: [2, row.length],
      gathered: [...row, ...row],
      rows: ids.flatMap((id) => [id, id + 1]).map((sum) => sum / ids.length),
      indices: ids.flatMap((id) => [0, id]),
    };
    for (const checkCalls of [false, true]) {
      const answers = await workers.run<Joining>('joins', devicesOf, 'NCCL', checkCalls);
      for (const [worker, { result, error }] of answers.entries()) {
        expect(error).toBeUndefined();
        const { rounds, notes } = result as Joining;
        const [onGpus, mixed, onHost] = rounds;
        for (const [round, places] of [
          [onGpus, [true, true]],
          [mixed, [true, false]],
          [onHost, [false, false]],
        ] as const)
          expect(round?.joined).toEqual(new Array(here).fill({ ...expected, isOnGpu: places[worker] }));
        expect(onGpus?.byNccl).toEqual(['group of collectives', 'group of collectives']);
        expect(mixed?.byNccl).toHaveLength(2);
        expect(onHost?.byNccl).toEqual([]);
        expect(notes.filter((note) => /gather|slices/.test(note))).toEqual([
          'nccl does not implement gather; collective is used instead',
          'an all-reduce of indexed slices gathers them; collective is used instead',
        ]);
      }
    }
  });

  it('throws on all workers if only some of them use GPUs', async () => {
    for (const { error } of await workers.run('adds', (worker) => [worker === 0 ? 'gpu:0' : 'cpu:0']))
      expect(error).toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER', rank: 1 });
  });

  it('reports the error of NCCL if two workers use the same GPU', async () => {
    for (const { error } of await workers.run('adds', () => ['gpu:0']))
      expect(error).toMatchObject({ message: expect.stringMatching(/Duplicate GPU/) });
  });

  it('supports replicas in separate threads', async () => {
    const answers = await workers.run<number[][][]>('inThread', (worker) => [`gpu:${worker}`]);
    expect(answers).toEqual([0, 1].map(() => ({ result: [[[3], [1], [0.5], expect.any(Number)]] })));
    for (const { result } of answers) expect(result?.[0]?.[3]).toBeGreaterThan(0);
  });

  it.each([
    ['one per worker', (worker: number) => [`gpu:${worker}`]],
    ['two per worker', (worker: number) => [`gpu:${2 * worker}`, `gpu:${2 * worker + 1}`]],
  ])('detects different calls with option checkCalls: %s', async (_, devicesOf) => {
    await expectTrained(await workers.run('trains', devicesOf, 'NCCL', true), 2 * devicesOf(0).length);
    const [first, second] = await workers.run('differs', devicesOf, 'NCCL', true);
    expect(first?.error).toMatchObject({ name: 'InternalError', code: 'ERR_COLL_MISMATCH' });
    expect(first?.error?.message).toMatch(/all-reduce sum of 2 float32 .*all-reduce max of 2 float32/);
    expect(second).toEqual(first);
    for (const { error } of await workers.run('differsWithin', devicesOf, 'NCCL', true))
      expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH' });
  });

  // The last one: a worker is gone.
  it('reports a lost worker to the others', async () => {
    const [first] = await workers.run('loses', (worker) => [`gpu:${worker}`]);
    expect(first?.error).toMatchObject({ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 1 });
  });
});

describe('workers that share a GPU', () => {
  it('train with the same result as on CPUs', async () => {
    await using workers = await GpuWorkers.start([{ NCCL_HOSTID: 'one' }, { NCCL_HOSTID: 'other' }]);
    await expectTrained(await workers.run('trains', () => ['gpu:0']), 2);
  });
});

describe('workers of which one has no GPU', () => {
  let workers: GpuWorkers;
  beforeAll(async () => {
    workers = await GpuWorkers.start([{}, { COLL_CUDA_LIBRARY: '/nowhere/libcuda.so.1' }]);
  });
  afterAll(() => workers[Symbol.asyncDispose]());

  it('all fail with a message that says what to fix if implementation NCCL is requested', async () => {
    for (const { error } of await workers.run('adds', () => ['gpu:0'])) {
      expect(error).toMatchObject({ code: 'ERR_COLL_REFUSED', rank: 1 });
      expect(error?.message).toMatch(
        /^NCCL was requested, but on worker 1 .*libcuda.*: fix the cause, or request AUTO or RING/,
      );
    }
  });

  it('continue without NCCL for implementation AUTO, and explain why', async () => {
    for (const { result } of await workers.run<Added>('adds', () => ['gpu:0'], 'AUTO')) {
      expect(result?.sum).toEqual([3]);
      expect(result?.notes).toEqual([expect.stringMatching(/^nccl is not used, because on worker 1 .*libcuda/)]);
    }
  });
});

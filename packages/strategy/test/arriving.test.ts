import type { CollError } from '@coll/core';
import { ring } from '@coll/ring';
import { getReplicaContext, MirroredStrategy, type ReplicaContext } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import * as functions from './fixtures/arriving.js';
import { expectNoUnhandledRejections } from './no-unhandled-rejections.js';

const module = new URL('./fixtures/arriving.ts', import.meta.url);
const two = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: ring });

expectNoUnhandledRejections();

type Name = keyof typeof functions;

interface Outcome {
  /** The first report of each replica. */
  readonly results: readonly unknown[];
  readonly error: CollError | undefined;
  readonly reports: readonly unknown[][];
}

/** Runs a function of the module as two replicas. */
async function runExport(isThreads: boolean, name: Name, ...args: readonly unknown[]): Promise<Outcome> {
  const reports: unknown[][] = [[], []];
  const onReport = (replica: number, value: unknown) => void reports[replica]?.push(value);
  const run = isThreads
    ? two.run(module, { args, exportName: name, onReport })
    : two.run(Object.entries(functions).find(([known]) => known === name)?.[1] as never, {
        args: args as never,
        onReport,
      });
  const error = await run.then(
    () => undefined,
    (reason: CollError) => reason,
  );
  return { results: reports.map(([first]) => first), error, reports };
}

describe.each([
  ['in one thread', false],
  ['in worker threads', true],
])('an all-reduce of promises %s', (_, isThreads) => {
  it.each(isThreads ? [12] : [0, 1, 12, 1000])(
    'returns the same bits as an all-reduce of values, in packs of %i bytes',
    async (bytesPerPack) => {
      for (const result of (await runExport(isThreads, 'alike', bytesPerPack)).results) {
        const { arrived, plain } = result as { arrived: number[][]; plain: number[][] };
        expect(arrived).toEqual(plain);
        expect(arrived.flat().every((number) => number > 0)).toBe(true);
      }
    },
  );

  it('delivers results pack by pack, last value first', async () => {
    const { results } = await runExport(isThreads, 'order', [3, 2, 1, 0], [1, 2, 3, 4]);
    const steps = [[3], [2, 3], [1, 2, 3], [0, 1, 2, 3]];
    const sums = [0, 1, 2, 3].map((layer) => [2 * layer, 2]);
    expect(results).toEqual([
      { steps, sums },
      { steps, sums },
    ]);
  });

  it('reduces a pack only when all values that follow it have arrived', async () => {
    const { results } = await runExport(isThreads, 'order', [0, 2, 3, 1], [0, 0, 2, 4]);
    for (const result of results) expect(result).toMatchObject({ steps: [[], [], [2, 3], [0, 1, 2, 3]] });
  });

  it.each([
    [0, true],
    [1, true],
    [1, false],
  ])(
    'fails on all replicas if a promise of replica %i rejects (the promise of its last value: %s)',
    async (culprit, isLast) => {
      const { reports, error } = await runExport(isThreads, 'fails', culprit, isLast);
      const message = `all-reduce: value ${isLast ? 2 : 0} of replica ${culprit} did not arrive: no memory`;
      const failed = {
        name: 'UnavailableError',
        code: 'ERR_COLL_PEER_FAILED',
        message: expect.stringContaining(message),
      };
      expect(reports[culprit]?.[0]).toContainEqual(failed);
      if (error) expect(error).toMatchObject(failed);
      else expect(reports[1 - culprit]?.[0]).toContainEqual(failed);
    },
  );

  it('executes before later calls', async () => {
    const { results } = await runExport(isThreads, 'after');
    expect(results).toEqual([
      [[10], [2], [20], [200], [1]],
      [[10], [2], [20], [200], [1]],
    ]);
  });

  it('writes into the memory passed as `into`', async () => {
    const { results } = await runExport(isThreads, 'memory');
    for (const result of results) expect(result).toEqual({ into: [[2, 4], [14]], isSame: true });
  });

  it('accepts a single promise, sparse values and scalars', async () => {
    const { results } = await runExport(isThreads, 'kinds');
    for (const result of results)
      expect(result).toEqual({ alone: [[1, 0]], indices: [[0, 1]], values: [[0, 1]], scalar: [] });
  });

  it('times out after timeoutSeconds', async () => {
    const { error, reports } = await runExport(isThreads, 'waits', 0.05);
    expect(error).toMatchObject({ name: 'DeadlineExceededError', code: 'ERR_COLL_DEADLINE' });
    expect(reports[0]).toEqual(['DeadlineExceededError']);
  });

  it('is aborted for all replicas by a signal', async () => {
    const { reports, error } = await runExport(isThreads, 'aborts');
    const messages = [...reports.flat(), error?.message];
    expect(messages).toContainEqual(expect.stringContaining('replica 1 aborted: enough'));
  });

  it('is complete before a replica ends, even if the replica does not await the promises', async () => {
    const { reports } = await runExport(isThreads, 'leaves', false);
    expect(reports).toEqual([
      [2, 6],
      [2, 6],
    ]);
    const { error } = await runExport(isThreads, 'leaves', true);
    expect(error).toMatchObject({ name: 'UnavailableError', message: expect.stringContaining('did not arrive: lost') });
  });
});

it('an all-reduce of promises is refused at once for an unknown op or into memory that does not fit', async () => {
  await two.run((replica) => {
    const gradient = Promise.resolve(Float32Array.of(1));
    expect(() => replica.allReduce('median' as never, [gradient])).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
    const into = [Float32Array.of(1), Float32Array.of(1)];
    expect(() => replica.allReduce('sum', [gradient], { into })).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_BUFFER' }),
    );
    const [same] = into as [Float32Array];
    expect(() => replica.allReduce('sum', [gradient, gradient], { into: [same, same] })).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_BUFFER' }),
    );
  });
});

it('an all-reduce of promises works for the single replica of the default strategy', async () => {
  const replica = getReplicaContext() as ReplicaContext;
  const { a, b } = replica.allReduce('mean', { a: Promise.resolve(Int32Array.of(3)), b: Float32Array.of(4) });
  expect([(await a).data, (await b).data]).toEqual([Float64Array.of(3), Float32Array.of(4)]);
  const [lost] = replica.allReduce('sum', [Promise.reject(new Error('lost'))] as Promise<Float32Array>[]);
  await expect(lost).rejects.toMatchObject({ code: 'ERR_COLL_PEER_FAILED' });
});

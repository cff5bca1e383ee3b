import { getEventListeners } from 'node:events';
import { resolveEngine } from '@coll/core';
import { ring } from '@coll/ring';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ReplicaThreads, type Step, type ThreadSetting } from './replica-threads.js';

const { engine } = resolveEngine('auto');
const deviceOf = (cpu: number) => `/job:localhost/replica:0/task:0/device:CPU:${cpu}`;
const moduleOf = (code: string) => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

const started: ReplicaThreads[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((threads) => threads.end()));
});

/** Threads, one by default, and a function that runs the default export of a module in them. */
function threadsFor(code: string, setting: Partial<ThreadSetting> = {}) {
  const module = moduleOf(`export default ${code}`);
  const setup = { plugin: { name: ring.name, module: ring.module, options: undefined } };
  const threads = new ReplicaThreads({ engine, devices: [deviceOf(0)], firstReplica: 0, setup, ...setting }, module);
  started.push(threads);
  const run = (args: readonly unknown[] = [], step: Partial<Step> = {}) =>
    threads.run({ module, argsOf: () => args, options: {}, ...step });
  return { threads, run };
}

const two = { devices: [deviceOf(0), deviceOf(1)] };

describe('a run in threads', () => {
  it('returns the results and passes on the reports', async () => {
    const reports: unknown[] = [];
    const { run } = threadsFor('(replica, five) => { replica.report(1); return five; }', { ...two, firstReplica: 4 });
    const onReport = (...report: unknown[]) => reports.push(report);
    const results = await run([], { argsOf: (replica) => [replica + 5], options: { onReport } });
    expect(results).toEqual([5, 6]);
    expect(reports.sort()).toEqual([
      [4, 1],
      [5, 1],
    ]);
  });

  it('finds the state that earlier runs left in the module, in the same thread', async () => {
    const { run } = threadsFor(
      '(replica) => [replica.replicaIdInSyncGroup, (globalThis.count = (globalThis.count ?? 0) + 1)]',
      two,
    );
    expect([await run(), await run()]).toEqual([
      [
        [0, 1],
        [1, 1],
      ],
      [
        [0, 2],
        [1, 2],
      ],
    ]);
  });

  it('has the same context as earlier runs, whose calls are refused between the runs', async () => {
    const { run } = threadsFor(`async (replica) => {
      const { same, refused } = globalThis;
      globalThis.same = replica;
      setTimeout(() => replica.allReduce('sum', 1).catch((error) => { globalThis.refused = error.code + ': ' + error.message; }));
      return [same === undefined || same === replica, refused];
    }`);
    await run();
    await expect
      .poll(run)
      .toEqual([
        [
          true,
          'ERR_COLL_CLOSED: allReduce: the run of this replica has ended: make this call before the function of the replica returns',
        ],
      ]);
  });

  it('ends once all calls of its replicas have ended, awaited or not', async () => {
    const { run } = threadsFor(
      `(replica) => {
      const again = (left) => replica.allReduce('sum', left).then(() => (left > 0 ? again(left - 1) : replica.report('end')));
      void again(3);
    }`,
      two,
    );
    const onReport = vi.fn();
    await run([], { options: { onReport } });
    expect(onReport.mock.calls.sort()).toEqual([
      [0, 'end'],
      [1, 'end'],
    ]);
  });

  it('can load other modules than the first one', async () => {
    const { run } = threadsFor('() => 1');
    const module = moduleOf('export const other = () => 2; export const replica = () => 3;');
    expect(await run([], { module })).toEqual([3]);
    expect(await run([], { module, options: { exportName: 'other' } })).toEqual([2]);
    expect(await run()).toEqual([1]);
  });

  it('leaves the threads as they are if an argument is refused', async () => {
    const { threads, run } = threadsFor('() => (globalThis.count = (globalThis.count ?? 0) + 1)', two);
    await run();
    const argsOf = (replica: number) => [replica === 1 ? () => 1 : 0];
    await expect(run([], { argsOf })).rejects.toMatchObject({ code: 'ERR_COLL_NOT_CLONEABLE' });
    const transfer = { options: { transfer: true } };
    await expect(run([new Uint8Array(4)], transfer)).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
    expect(threads.isAlive).toBe(true);
    expect(await run()).toEqual([2, 2]);
  });

  it('detaches the arrays that it moves', async () => {
    const { run } = threadsFor('(_, array) => array.length');
    const array = new Float32Array(4);
    expect(await run([array], { options: { transfer: true } })).toEqual([4]);
    expect(array.length).toBe(0);
    expect(await run([new Float32Array(3)])).toEqual([3]);
  });

  it('removes its listener from the signal', async () => {
    const { signal } = new AbortController();
    await threadsFor('() => 1').run([], { options: { signal } });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a run that fails', () => {
  it('ends all threads', async () => {
    const { threads, run } = threadsFor("() => { throw new RangeError('too far'); }", two);
    await expect(run()).rejects.toMatchObject({ name: 'RangeError', message: expect.stringMatching(/too far/) });
    expect(threads.isAlive).toBe(false);
    // Later runs in these threads fail with the same error.
    await expect(run()).rejects.toMatchObject({ name: 'RangeError' });
  });

  it('is not begun if its signal is already aborted', async () => {
    const { threads, run } = threadsFor('() => 1');
    await expect(run([], { options: { signal: AbortSignal.abort('enough') } })).rejects.toMatchObject({
      ...{ name: 'AbortedError', code: 'ERR_COLL_ABORTED', cause: 'enough' },
      message: 'run was aborted before it began',
    });
    expect(threads.isAlive).toBe(true);
  });

  it('because its signal is aborted removes its listener', async () => {
    const over = new AbortController();
    const { run } = threadsFor('(replica) => { replica.report(1); return new Promise(() => {}); }');
    const options = { onReport: () => over.abort('enough'), signal: over.signal };
    const aborted = { code: 'ERR_COLL_ABORTED', message: 'run was aborted', cause: 'enough' };
    await expect(run([], { options })).rejects.toMatchObject(aborted);
    expect(getEventListeners(over.signal, 'abort')).toEqual([]);
  });

  it('notifies replicas in other processes', async () => {
    const others = { failure: () => undefined, fail: vi.fn(), departure: vi.fn() };
    const failed = threadsFor("() => { throw new RangeError('too far'); }").run([], { others });
    await expect(failed).rejects.toMatchObject({ name: 'RangeError', message: 'replica 0: too far' });
    expect(others.fail.mock.calls).toEqual([[await failed.catch((error) => error)]]);
  });

  it('fails because of a replica in another process', async () => {
    const error = new RangeError('elsewhere');
    const failure = vi.fn<() => Error | undefined>().mockReturnValueOnce(undefined);
    const others = { failure, fail: vi.fn(), departure: vi.fn() };
    others.failure.mockReturnValue(error);
    await expect(threadsFor('() => new Promise(() => {})').run([], { others })).rejects.toBe(error);
    expect(others.failure.mock.calls.length).toBeGreaterThanOrEqual(2);
  });
});

it('a run whose replicas catch the failure of a collective succeeds, but is the last one of its threads', async () => {
  const { threads, run } = threadsFor(
    `(replica) => {
      if (replica.replicaIdInSyncGroup === 1) return new Promise((resolve) => setTimeout(resolve, 500, 'late'));
      return replica.allReduce('sum', 1, { timeoutSeconds: 0.05 }).catch((error) => error.code);
    }`,
    two,
  );
  expect(await run()).toEqual(['ERR_COLL_DEADLINE', 'late']);
  expect(threads.isAlive).toBe(false);
});

describe('a thread that fails between two runs', () => {
  it.each([
    ['throws in a timer', "throw new RangeError('late')", { name: 'RangeError', message: /^replica 0: late$/ }],
    [
      'rejects a promise',
      "Promise.reject(new RangeError('late'))",
      { name: 'RangeError', message: /^replica 0: late$/ },
    ],
    ['exits', 'process.exit(3)', { message: /^replica 0: its thread ended with exit code 3 between two runs$/ }],
  ])('is the error of the next run, which does not begin: %s', async (_, code, error) => {
    const { threads, run } = threadsFor(`() => { setTimeout(() => { ${code}; }, 20); }`);
    await run();
    await vi.waitFor(() => expect(threads.isAlive).toBe(false), { timeout: 10_000 });
    const onReport = vi.fn();
    const failed = await run([], { options: { onReport } }).catch((thrown: Error) => thrown);
    expect(failed).toMatchObject({ ...error, message: expect.stringMatching(error.message) });
    expect(onReport).not.toHaveBeenCalled();
  });
});

it('the error of a thread that fails after the last run is logged when the threads end', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {});
  const { threads, run } = threadsFor("() => { setTimeout(() => { throw new RangeError('late'); }, 20); }");
  await run();
  await vi.waitFor(() => expect(threads.isAlive).toBe(false), { timeout: 10_000 });
  for (let times = 0; times < 2; times++) await threads.end();
  const line = expect.stringMatching(/^coll warn .* a thread failed after its latest run: replica 0: late$/);
  expect(logged.mock.calls).toEqual([[line]]);
  logged.mockRestore();
});

import { availableParallelism } from 'node:os';
import { type Engine, resolveEngine } from '@coll/core';
import { ring } from '@coll/ring';
import { describe, expect, it, vi } from 'vitest';
import { runReplicaThreads, type ThreadRun } from './run-replica-threads.js';

const { engine } = resolveEngine('auto');

/** Runs a function in replica threads; one by default. */
function runOf(code: string, more: Partial<ThreadRun> = {}): Promise<unknown[]> {
  return runReplicaThreads({
    ...{ engine, devices: ['/job:localhost/replica:0/task:0/device:CPU:0'], firstReplica: 0 },
    home: { plugin: { name: ring.name, module: ring.module, options: undefined } },
    module: new URL(`data:text/javascript,${encodeURIComponent(`export default ${code}`)}`),
    argsOf: () => [],
    options: {},
    ...more,
  });
}

describe('replicas in threads', () => {
  it('return their results and send their reports', async () => {
    const reports: unknown[] = [];
    const onReport = (...report: unknown[]) => reports.push(report);
    const argsOf = (replica: number) => [replica + 5];
    expect(
      await runOf('(replica, five) => { replica.report(1); return five; }', { argsOf, options: { onReport } }),
    ).toEqual([5]);
    expect(reports).toEqual([[0, 1]]);
  });

  it('are not started by a run that is already aborted', async () => {
    const createGroup = vi.fn(engine.createGroup);
    const options = { signal: AbortSignal.abort('enough') };
    await expect(runOf('() => 1', { engine: { ...engine, createGroup } as Engine, options })).rejects.toMatchObject({
      ...{ name: 'AbortedError', code: 'ERR_COLL_ABORTED', cause: 'enough' },
      message: 'run was aborted before it began',
    });
    expect(createGroup).not.toHaveBeenCalled();
  });

  it('end when their run is aborted, and remove their listeners', async () => {
    const over = new AbortController();
    const remove = vi.spyOn(over.signal, 'removeEventListener');
    const onReport = () => over.abort('enough');
    const running = runOf('(replica) => { replica.report(1); return new Promise(() => {}); }', {
      options: { onReport, signal: over.signal },
    });
    await expect(running).rejects.toMatchObject({
      code: 'ERR_COLL_ABORTED',
      message: 'run was aborted',
      cause: 'enough',
    });
    expect(remove).toHaveBeenCalledExactlyOnceWith('abort', expect.any(Function));
  });

  it('notify replicas in other processes when one fails', async () => {
    const others = { failure: () => undefined, fail: vi.fn() };
    const failed = runOf("() => { throw new RangeError('too far'); }", { others });
    await expect(failed).rejects.toMatchObject({ name: 'RangeError', message: 'replica 0: too far' });
    expect(others.fail.mock.calls).toEqual([[await failed.catch((error) => error)]]);
    await expect(runOf("() => { throw new RangeError('too far'); }")).rejects.toThrow('replica 0: too far');
  });

  it('end when a replica in another process fails', async () => {
    const error = new RangeError('elsewhere');
    const others = { failure: vi.fn<() => Error | undefined>().mockReturnValueOnce(undefined), fail: vi.fn() };
    others.failure.mockReturnValue(error);
    await expect(runOf('() => new Promise(() => {})', { others })).rejects.toBe(error);
    const asked = others.failure.mock.calls.length;
    expect(asked).toBeGreaterThanOrEqual(2);
  });

  it.each([
    [availableParallelism(), { size: availableParallelism() }],
    [availableParallelism() + 1, { size: availableParallelism() + 1, spins: 0 }],
  ])('do not busy-wait if there are more threads than cores: %i', async (size, options) => {
    const createGroup = vi.fn(engine.createGroup);
    const devices = Array.from({ length: size }, (_, cpu) => `/job:localhost/replica:0/task:0/device:CPU:${cpu}`);
    // Cannot be posted, so no thread starts.
    const args = { args: () => 1 };
    const running = runOf('() => 1', { engine: { ...engine, createGroup } as Engine, devices, argsOf: () => [args] });
    await expect(running).rejects.toMatchObject({ code: 'ERR_COLL_NOT_CLONEABLE' });
    expect(createGroup.mock.calls).toEqual([[options]]);
  });
});

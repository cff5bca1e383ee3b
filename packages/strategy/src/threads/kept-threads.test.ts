import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { KeptThreads } from './kept-threads.js';
import type { ReplicaThreads, Step } from './replica-threads.js';

const module = new URL('file:///replica.js');

/** A run that the test ends. */
interface Pending {
  readonly step: Step;
  succeed(results: unknown[]): void;
  /** `isFatal`: the threads end with the run. */
  fail(error: unknown, isFatal?: boolean): void;
}

/** Kept threads on test doubles, of which the test ends each run. */
function keptThreads() {
  const runs: Pending[] = [];
  const started: { readonly module: URL; readonly end: ReturnType<typeof vi.fn> }[] = [];
  const start = async (first: URL): Promise<ReplicaThreads> => {
    const threads = {
      runs: 0,
      isAlive: true,
      run: (step: Step) =>
        new Promise((resolve, reject) => {
          const succeed = (results: unknown[]) => {
            threads.runs += 1;
            resolve(results);
          };
          const fail = (error: unknown, isFatal = true) => {
            threads.isAlive = !isFatal;
            reject(error);
          };
          runs.push({ step, succeed, fail });
        }),
      end: vi.fn(async () => {}),
    };
    started.push({ module: first, end: threads.end });
    return threads as unknown as ReplicaThreads;
  };
  const kept = new KeptThreads(start);
  const run = (options: Step['options'] = {}) => kept.run({ module, argsOf: () => [], options });
  /** Waits until that many runs have begun. */
  const begun = (count: number) => expect.poll(() => runs).toHaveLength(count);
  return { kept, run, runs, started, begun };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('kept threads', () => {
  it('are started by the first run, and kept for the next ones', async () => {
    const { run, runs, started, begun } = keptThreads();
    expect(started).toEqual([]);
    for (const count of [1, 2]) {
      const running = run();
      await begun(count);
      runs[count - 1]?.succeed([count]);
      expect(await running).toEqual([count]);
    }
    expect(started).toMatchObject([{ module }]);
  });

  it('serve runs one after the other, in the order of the calls', async () => {
    const { run, runs, begun } = keptThreads();
    const [first, second] = [run(), run()];
    await begun(1);
    await new Promise(setImmediate);
    expect(runs).toHaveLength(1);
    runs[0]?.succeed(['first']);
    await begun(2);
    runs[1]?.succeed(['second']);
    expect(await Promise.all([first, second])).toEqual([['first'], ['second']]);
  });

  it('are started anew after a failure, which says and logs that state is lost', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { run, runs, started, begun } = keptThreads();
    const first = run();
    await begun(1);
    runs[0]?.succeed([1]);
    await first;
    const failed = run();
    await begun(2);
    runs[1]?.fail(new RangeError('too far'));
    await expect(failed).rejects.toMatchObject({
      name: 'RangeError',
      message: 'too far; the threads of all replicas have ended, so what their modules kept from earlier runs is lost',
    });
    for (const count of [3, 4]) {
      const next = run();
      await begun(count);
      runs[count - 1]?.succeed([count]);
      expect(await next).toEqual([count]);
    }
    expect(started).toHaveLength(2);
    expect(logged.mock.calls).toEqual([
      [expect.stringMatching(/new threads were started after an error, so what their modules kept .* is lost$/)],
    ]);
  });

  it('have lost no state if their first run fails', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { run, runs, started, begun } = keptThreads();
    const failed = run();
    await begun(1);
    runs[0]?.fail(new RangeError('too far'));
    await expect(failed).rejects.toMatchObject({ message: 'too far' });
    const next = run();
    await begun(2);
    runs[1]?.succeed([2]);
    expect(await next).toEqual([2]);
    expect(started).toHaveLength(2);
    expect(logged).not.toHaveBeenCalled();
  });

  it('remain if a run is refused', async () => {
    const { run, runs, started, begun } = keptThreads();
    const refused = run();
    await begun(1);
    runs[0]?.fail(new RangeError('an argument'), false);
    await expect(refused).rejects.toThrow('an argument');
    const next = run();
    await begun(2);
    runs[1]?.succeed([2]);
    expect(await next).toEqual([2]);
    expect(started).toHaveLength(1);
  });
});

describe('a run that waits for its turn', () => {
  it('ends at once if it is aborted, and does not affect other runs', async () => {
    const { run, runs, begun } = keptThreads();
    const over = new AbortController();
    const [first, aborted, last] = [run(), run({ signal: over.signal }), run()];
    await begun(1);
    over.abort('enough');
    await expect(aborted).rejects.toMatchObject({
      ...{ code: 'ERR_COLL_ABORTED', message: 'run was aborted before it began', cause: 'enough' },
    });
    runs[0]?.succeed(['first']);
    await begun(2);
    runs[1]?.succeed(['last']);
    expect(await Promise.all([first, last])).toEqual([['first'], ['last']]);
    expect(getEventListeners(over.signal, 'abort')).toEqual([]);
  });

  it('does not fail with an earlier run', async () => {
    const { run, runs, begun } = keptThreads();
    const [first, second] = [run(), run()];
    await begun(1);
    runs[0]?.fail(new RangeError('too far'));
    await expect(first).rejects.toThrow('too far');
    await begun(2);
    runs[1]?.succeed([2]);
    expect(await second).toEqual([2]);
  });
});

describe('closing kept threads', () => {
  it('waits for all runs that were called before, ends the threads, and refuses later runs', async () => {
    const { kept, run, runs, started, begun } = keptThreads();
    const running = [run(), run()];
    await begun(1);
    const closing = kept.close();
    for (const count of [1, 2]) {
      await begun(count);
      await new Promise(setImmediate);
      expect(started[0]?.end).not.toHaveBeenCalled();
      runs[count - 1]?.succeed([count]);
    }
    expect(await Promise.all(running)).toEqual([[1], [2]]);
    await closing;
    expect(started[0]?.end).toHaveBeenCalledOnce();
    await expect(run()).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED', operation: 'run' });
    const own = kept.runOwn({ module, argsOf: () => [], options: {} });
    await expect(own).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
    await kept.close();
    expect(started[0]?.end).toHaveBeenCalledOnce();
  });

  it('does nothing if no run has started threads', async () => {
    const { kept, started } = keptThreads();
    await kept.close();
    expect(started).toEqual([]);
  });
});

describe('threads of a single run', () => {
  it('end with it, and do not wait for other runs', async () => {
    const { kept, run, runs, started, begun } = keptThreads();
    const first = run();
    await begun(1);
    const own = kept.runOwn({ module, argsOf: () => [], options: {} });
    await begun(2);
    runs[1]?.succeed(['own']);
    expect(await own).toEqual(['own']);
    expect(started.map(({ end }) => end.mock.calls.length)).toEqual([0, 1]);
    runs[0]?.succeed(['first']);
    expect(await first).toEqual(['first']);
  });
});

import { AbortedError, CollError, DeadlineExceededError, RuntimeError, ValueError } from '@coll/core';
import { ring } from '@coll/ring';
import { MirroredStrategy, MultiWorkerMirroredStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import { expectNoUnhandledRejections } from './no-unhandled-rejections.js';
import { cpu } from './strategies.js';

const module = new URL('./fixtures/failing.mjs', import.meta.url);
const strategyOf = (replicas: number) => new MirroredStrategy({ devices: cpu(replicas), crossDeviceOps: ring });

expectNoUnhandledRejections();

/** What a run of the module rejects with. */
async function failureOf(
  replicas: number,
  exportName: string,
  args: readonly unknown[] = [],
  options: { readonly signal?: AbortSignal; readonly onReport?: (replica: number, value: unknown) => void } = {},
): Promise<CollError> {
  const run = strategyOf(replicas).run(module, { args, exportName, ...options });
  return run.then(
    (results) => expect.fail(`the run gave ${String(results)}`),
    (error: CollError) => error,
  );
}

describe('an exception in one thread', () => {
  it.each([
    ['in allReduceSync', 2],
    ['in allReduce', 2],
    ['in mergeCall', 2],
    ['in a long timer', 2],
    ['in Atomics.wait', 2],
    ['in a busy loop', 2],
    ['with an all-reduce that they do not await', 2],
    ['in allReduceSync', 4],
  ])('ends the other threads promptly: %s (%i replicas)', async (where, replicas) => {
    let thrownAt = 0;
    const flags = new Int32Array(new SharedArrayBuffer(12));
    const error = await failureOf(replicas, 'throwWhileOthers', [where, flags], {
      onReport: (_, time) => {
        thrownAt = time as number;
      },
    });
    const milliseconds = performance.timeOrigin + performance.now() - thrownAt;
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'Oops',
      message: `replica ${replicas - 1}: enough`,
      rank: replicas - 1,
      status: 418,
      stack: expect.stringContaining('failing.mjs'),
      cause: expect.objectContaining({ name: 'RangeError', message: 'inner', cause: 7 }),
    });
    expect((error.cause as Error) instanceof RangeError).toBe(true);
    // It is a fraction of a second; what is left is for machines that are busy. The others would go on for ten minutes.
    expect(milliseconds).toBeLessThan(60_000);
  });

  it.each([
    [
      'a ValueError',
      ValueError,
      { code: 'ERR_COLL_VALUE', message: 'replica 0: not this', rank: 0, operation: 'reduce', cause: 'a cause' },
    ],
    ['a text', RuntimeError, { code: 'ERR_COLL_REPLICA', message: 'replica 0: only text', cause: 'only text' }],
    [
      'a DOMException',
      RuntimeError,
      { code: 'ERR_COLL_REPLICA', cause: expect.objectContaining({ name: 'AbortError' }) },
    ],
  ])('keeps its class, code, message and cause: %s', async (what, errorClass, fields) => {
    const error = await failureOf(1, 'throwThis', [what]);
    expect(error).toBeInstanceOf(errorClass);
    expect(error).toMatchObject(fields);
    expect(error.stack).toContain(error.message);
  });

  it.each(['in a timer', 'in a promise that nobody awaits'])('is reported if it is thrown %s', async (how) => {
    const error = await failureOf(2, 'throwLater', [how]);
    expect(error).toBeInstanceOf(ValueError);
    expect(error).toMatchObject({ code: 'ERR_COLL_VALUE', message: expect.stringMatching(/^replica 1: from a /) });
  });

  it('does not affect the others if the replica catches it', async () => {
    const reports: unknown[] = [];
    const run = strategyOf(1).run(module, { exportName: 'catchOwn', onReport: (_, value) => reports.push(value) });
    expect(await run).toBe('went on');
    expect(reports).toEqual(['caught']);
  });

  it('ends the run if a merge call throws it, even if replica 0 catches it', async () => {
    const error = await failureOf(2, 'throwInMerge');
    expect(error).toMatchObject({ name: 'Oops', message: 'in the merge', status: 418 });
  });
});

describe('a thread that ends', () => {
  it('with process.exit is an error, whatever its code', async () => {
    expect(await failureOf(2, 'exit', [0])).toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_REPLICA',
      rank: 1,
      message: 'replica 1: its thread ended with exit code 0 before it returned',
    });
  });

  describe.each(Object.entries({ MirroredStrategy, MultiWorkerMirroredStrategy }))('of a %s', (_, Kind) => {
    it.each([
      [0, 2, 'allReduceSync'],
      [1, 2, 'allReduceSync'],
      [0, 2, 'allReduce'],
      [1, 2, 'allReduce'],
      [0, 3, 'allReduceSync'],
      [2, 3, 'allReduce'],
    ])('while others wait in a collective is an error: replica %i of %i, %s', async (leaving, replicas, wait) => {
      await using strategy = new Kind({ devices: cpu(replicas) });
      const run = strategy.run(module, { exportName: 'leaveEarly', args: [wait, leaving] });
      const others = [...cpu(replicas).keys()].filter((replica) => replica !== leaving);
      const waits = others.map((replica) => `replica ${replica} waits in all-reduce sum of 1 float64 elements`);
      const text = `replica ${leaving}: replicas made different numbers of collectives: replica ${leaving} has ended after 2 while another replica waits in collective 3 of the run: replica ${leaving} has ended, ${waits.join(', ')}: unequal numbers of batches`;
      const error = await run.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RuntimeError);
      expect(error).toMatchObject({
        code: 'ERR_COLL_MERGE',
        rank: leaving,
        message: expect.stringContaining(text),
        cause: expect.objectContaining({ code: 'ERR_COLL_MISMATCH' }),
      });
    });
  });

  it('while another waits in a collective is an error, even if that one catches its own', async () => {
    expect(await failureOf(2, 'catchEarlyLeave')).toMatchObject({ code: 'ERR_COLL_MERGE', rank: 1 });
  });

  it('while others wait in mergeCall is an error', async () => {
    const error = await failureOf(3, 'leaveEarly', ['mergeCall']);
    expect(error).toBeInstanceOf(RuntimeError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_MERGE',
      rank: 1,
      message: expect.stringContaining('different numbers of merge calls: replica 1 has ended after 0 while replica'),
    });
  });
});

describe('replicas in threads that make different calls', () => {
  it.each([
    [
      'dtype',
      'InternalError',
      'ERR_COLL_DTYPE_MISMATCH',
      /1 float32 elements on rank 0, but .* 1 float64 elements on rank 1/,
    ],
    [
      'length',
      'InvalidArgumentError',
      'ERR_COLL_SHAPE_MISMATCH',
      /2 float32 elements on rank 0, but .* 3 float32 elements on rank 1/,
    ],
    ['op', 'InternalError', 'ERR_COLL_MISMATCH', /all-reduce sum of .*, but all-reduce max of/],
    ['structure', 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH', /passes a list of 1, rank 1 passes a list of 2/],
    [
      'gathered structure',
      'InvalidArgumentError',
      'ERR_COLL_SHAPE_MISMATCH',
      /passes a list of 1, rank 1 passes a structure of 3/,
    ],
    [
      'broadcast structure',
      'InvalidArgumentError',
      'ERR_COLL_SHAPE_MISMATCH',
      /passes a single value, rank 1 .* list of 2/,
    ],
    ['keys', 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH', /another structure/],
    ['shapes in a pack', 'InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH', /Shape mismatch in the collective/],
    ['merge', 'InternalError', 'ERR_COLL_MISMATCH', /^replicas make different calls: replica 0 calls mergeCall/],
    [
      'merge of others',
      'InternalError',
      'ERR_COLL_MISMATCH',
      /^replicas make different calls: replica 1 calls mergeCall/,
    ],
  ])('get the same error: %s', async (what, name, code, message) => {
    const reports: unknown[] = [];
    const error = await failureOf(2, 'disagree', [what], {
      onReport: (replica, text) => reports.push([replica, text]),
    });
    expect(error).toBeInstanceOf(CollError);
    expect(error).toMatchObject({ name, code, message: expect.stringMatching(message) });
    // The errors of both name the calls of both.
    const disagreement =
      /(Shape mismatch in the collective|ranks disagree|another replica makes a different call).*$/.exec(
        error.message,
      )?.[0];
    if (what !== 'merge') {
      expect(reports.map((report) => (report as unknown[])[0]).sort()).toEqual([0, 1]);
      for (const [, text] of reports as string[][]) expect(text).toContain(disagreement);
    }
  });
});

describe('a value that cannot be posted to a thread', () => {
  const notCloneable = (what: string) => ({
    name: 'RuntimeError',
    code: 'ERR_COLL_NOT_CLONEABLE',
    message: expect.stringMatching(new RegExp(`^(replica 0: )?${what} cannot be sent to another thread`)),
  });

  it('is refused as an argument', async () => {
    expect(await failureOf(2, 'exit', [() => 0])).toMatchObject(notCloneable('an argument of a replica'));
  });

  it.each([
    ['result', 'the result of a replica'],
    ['report', 'a report'],
    ['an argument of a merge call', 'an argument of a merge call'],
    ['the result of a merge call', 'the result of a merge call'],
  ])('is refused as %s', async (what, message) => {
    expect(await failureOf(1, 'postUncloneable', [what])).toMatchObject(notCloneable(message));
  });
});

describe('waiting in threads', () => {
  it('ends after timeoutSeconds, and names the replicas that did not arrive', async () => {
    const error = await failureOf(3, 'waitInVain', [0.05]);
    expect(error).toBeInstanceOf(DeadlineExceededError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_DEADLINE',
      message: expect.stringMatching(/rank [0-9, ]*2 did not arrive/),
    });
  });

  it("ends when a replica's AbortSignal is aborted", async () => {
    const error = await failureOf(2, 'abortOwn');
    expect(error).toBeInstanceOf(AbortedError);
    expect(error).toMatchObject({ message: expect.stringMatching(/rank 0 aborted: mine/) });
  });

  it("ends when the run's AbortSignal is aborted, wherever the replicas wait", async () => {
    const controller = new AbortController();
    const error = await failureOf(2, 'stayForEver', [], {
      signal: controller.signal,
      onReport: () => controller.abort(new Error('why')),
    });
    expect(error).toBeInstanceOf(AbortedError);
    expect(error).toMatchObject({ message: 'run was aborted', cause: new Error('why') });
  });

  it('does not start if the AbortSignal is already aborted', async () => {
    const error = await failureOf(2, 'stayForEver', [], { signal: AbortSignal.abort() });
    expect(error).toMatchObject({ name: 'AbortedError', message: 'run was aborted before it began' });
  });
});

import { type CollError, InternalError, RuntimeError, UnavailableError } from '@coll/core';
import { createThreadGroup } from '@coll/core/plugin';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ReplicaThread, ReplicaThreads } from './replica-threads.js';
import { encodeError } from './thread-errors.js';
import type { ReplicaMessage, ToReplica } from './thread-messages.js';

/** Test doubles of threads, whose messages the test sends in its own order. */
function threadsOf(size: number, onReport?: (replica: number, value: unknown) => void, firstReplica = 0) {
  const heard: ToReplica[][] = Array.from({ length: size }, () => []);
  const start = (replica: number): ReplicaThread => ({
    tell: (message) => heard[replica]?.push(message),
    end: async () => {},
  });
  const threads = new ReplicaThreads({ group: createThreadGroup({ size }), firstReplica, onReport }, start);
  threads.results.catch(() => {});
  return { threads, heard, say: (replica: number, message: ReplicaMessage) => threads.message(replica, message) };
}

const failed = (error: Error): ReplicaMessage => ({ type: 'error', error: encodeError(error) });
const returned: ReplicaMessage = { type: 'result', value: 'done' };
const merging: ReplicaMessage = { type: 'merge', args: [] };
const consequence = (of: number) =>
  failed(new UnavailableError('ERR_COLL_PEER_FAILED', 'another replica failed', { rank: of }));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** The error of the run after all timers have fired. */
async function failureOf({ threads }: { readonly threads: ReplicaThreads }): Promise<CollError> {
  vi.runAllTimers();
  return threads.results.then(
    () => expect.fail('the run was a success'),
    (error: CollError) => error,
  );
}

describe('the error of a run', () => {
  it('is the cause, even if its consequences in other replicas are reported first', async () => {
    const run = threadsOf(3);
    run.say(1, consequence(2));
    run.threads.exit(1, 0, undefined);
    run.say(0, consequence(2));
    run.say(2, failed(new RangeError('the cause')));
    expect(await failureOf(run)).toMatchObject({ message: 'the cause' });
  });

  it('is the consequence in another replica if the cause is never reported', async () => {
    const run = threadsOf(2);
    run.say(1, consequence(0));
    vi.advanceTimersByTime(499);
    const settled = vi.fn();
    run.threads.results.catch(settled);
    await Promise.resolve();
    expect(settled).not.toHaveBeenCalled();
    expect(await failureOf(run)).toMatchObject({ code: 'ERR_COLL_PEER_FAILED' });
  });

  it('is the failure that a replica reports about itself if nothing else explains it', async () => {
    const run = threadsOf(2);
    run.say(1, consequence(1));
    run.say(0, failed(new RangeError('heard later')));
    expect(await failureOf(run)).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
  });

  it('is the reported error, not the later exit of the thread', async () => {
    const run = threadsOf(2);
    run.say(1, failed(new RangeError('told')));
    run.threads.exit(1, 1, new Error('as it arrives by itself'));
    expect(await failureOf(run)).toMatchObject({ message: 'told' });
  });

  it('is the exit of the thread if the replica reported nothing', async () => {
    const crashed = threadsOf(1);
    crashed.threads.exit(0, 1, new RangeError('out of memory'));
    expect(await failureOf(crashed)).toMatchObject({ name: 'RangeError', message: 'replica 0: out of memory' });
    const left = threadsOf(2);
    left.say(0, returned);
    left.threads.exit(0, 0, undefined);
    left.threads.exit(1, 7, undefined);
    expect(await failureOf(left)).toMatchObject({
      code: 'ERR_COLL_REPLICA',
      message: 'replica 1: its thread ended with exit code 7 before it returned',
      rank: 1,
    });
  });

  it('is the first of several errors', async () => {
    const run = threadsOf(2);
    run.say(1, failed(new Error('first')));
    run.say(0, failed(new Error('second')));
    expect(await failureOf(run)).toMatchObject({ message: 'first' });
  });

  it('is the error that aborts or ends the run', async () => {
    const aborted = threadsOf(2);
    aborted.threads.abort('enough');
    expect(await failureOf(aborted)).toMatchObject({
      ...{ name: 'AbortedError', code: 'ERR_COLL_ABORTED', message: 'run was aborted', cause: 'enough' },
    });
    const ended = threadsOf(2);
    const reason = new RangeError('elsewhere');
    ended.threads.fail(reason);
    expect(await failureOf(ended)).toBe(reason);
  });

  it('names the ended replica that another replica waits for', async () => {
    const run = threadsOf(2, undefined, 4);
    const closed = { rank: 4, operation: 'all-reduce' };
    run.say(1, failed(new RuntimeError('ERR_COLL_CLOSED', 'rank 4 has left the group', closed)));
    expect(await failureOf(run)).toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_MERGE', rank: 4, operation: 'all-reduce' },
      message:
        'replicas made different numbers of collectives: replica 4 has ended while replica 5 waits in all-reduce; all replicas must make the same number of steps',
      cause: { code: 'ERR_COLL_CLOSED' },
    });
  });

  it.each([5, undefined])('is the closed-group error itself if a replica finds rank %s closed', async (rank) => {
    const run = threadsOf(2, undefined, 4);
    run.say(1, failed(new RuntimeError('ERR_COLL_CLOSED', 'it was closed', rank === undefined ? {} : { rank })));
    expect(await failureOf(run)).toMatchObject({ code: 'ERR_COLL_CLOSED', message: 'it was closed' });
  });

  it('numbers replicas from the first one of this process', async () => {
    const reports: unknown[] = [];
    const run = threadsOf(2, (replica, value) => reports.push([replica, value]), 4);
    run.say(1, { type: 'report', value: { a: 1 } });
    expect(reports).toEqual([[5, { a: 1 }]]);
    run.say(0, consequence(5));
    run.say(1, consequence(5));
    expect(await failureOf(run)).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 5 });
    const merged = threadsOf(3, undefined, 4);
    for (const replica of [0, 2]) merged.say(replica, merging);
    merged.say(1, returned);
    expect(await failureOf(merged)).toMatchObject({
      ...{ rank: 5, message: expect.stringContaining('replica 5 has ended while replica 4, 6 waits') },
    });
  });

  it('is the error of a thread that cannot be started', async () => {
    const replicas = { group: createThreadGroup({ size: 2 }), firstReplica: 0, onReport: undefined };
    const threads = new ReplicaThreads(replicas, (replica) => {
      if (replica === 1) throw new RuntimeError('ERR_COLL_NOT_CLONEABLE', 'an argument');
      return { tell: () => {}, end: async () => {} };
    });
    expect(await failureOf({ threads })).toMatchObject({ message: 'an argument' });
  });

  it('is the error of the onReport listener', async () => {
    const run = threadsOf(1, () => {
      throw new SyntaxError('in the listener');
    });
    run.say(0, { type: 'report', value: 1 });
    expect(await failureOf(run)).toMatchObject({ message: 'in the listener' });
  });
});

describe('merge calls', () => {
  it('run on replica 0 one after the other, and their outcomes are sent to all', async () => {
    const { say, heard, threads } = threadsOf(2);
    for (const args of [['a'], ['b']]) say(1, { type: 'merge', args });
    for (const args of [['x'], ['y']]) say(0, { type: 'merge', args });
    expect(heard).toEqual([[{ type: 'hold', args: [['x'], ['a']] }], []]);
    say(0, { type: 'merged', results: [1, 2] });
    expect(heard).toEqual([
      [
        { type: 'hold', args: [['x'], ['a']] },
        { type: 'outcome', value: 1 },
        { type: 'hold', args: [['y'], ['b']] },
      ],
      [{ type: 'outcome', value: 2 }],
    ]);
    say(0, { type: 'merged', results: [3, 4] });
    for (const replica of [1, 0]) say(replica, { type: 'result', value: replica });
    expect(await threads.results).toEqual([0, 1]);
  });

  it.each(['before', 'after'])('that one replica omits are reported as such, %s the others notice', async (when) => {
    const run = threadsOf(3);
    const noticed = failed(new RuntimeError('ERR_COLL_CLOSED', 'rank 1 has left the group', { rank: 1 }));
    run.say(0, merging);
    if (when === 'after') run.say(0, noticed);
    run.say(1, returned);
    if (when === 'before') run.say(0, noticed);
    const error = await failureOf(run);
    expect(error).toBeInstanceOf(RuntimeError);
    expect(error).toMatchObject({
      code: 'ERR_COLL_MERGE',
      message: 'replicas made different numbers of merge calls: replica 1 has ended while replica 0 waits',
      rank: 1,
      operation: 'mergeCall',
    });
  });

  it('that only some replicas make are reported as such, even if a disagreement is reported first', async () => {
    const run = threadsOf(2);
    run.say(1, failed(new InternalError('ERR_COLL_MISMATCH', 'ranks disagree')));
    run.say(0, merging);
    expect(await failureOf(run)).toMatchObject({
      name: 'InternalError',
      message: 'replicas make different calls: replica 0 calls mergeCall, but not all replicas do; ranks disagree',
      code: 'ERR_COLL_MISMATCH',
      operation: 'mergeCall',
      cause: { message: 'ranks disagree' },
    });
  });

  it.each(['ERR_COLL_SHAPE_MISMATCH', 'ERR_COLL_DTYPE_MISMATCH'] as const)('explain %s too', async (code) => {
    const run = threadsOf(3);
    run.say(0, merging);
    run.say(2, merging);
    run.say(1, failed(new InternalError(code, 'ranks disagree')));
    expect(await failureOf(run)).toMatchObject({ message: expect.stringContaining('replica 0, 2 calls mergeCall') });
  });

  it('do not explain a disagreement without merge calls', async () => {
    const run = threadsOf(2);
    run.say(1, failed(new InternalError('ERR_COLL_MISMATCH', 'ranks disagree')));
    expect(await failureOf(run)).toMatchObject({ message: 'ranks disagree' });
  });

  it('do not explain other errors', async () => {
    const run = threadsOf(2);
    run.say(0, merging);
    run.say(1, failed(new RangeError('something else')));
    expect(await failureOf(run)).toMatchObject({ name: 'RangeError', message: 'something else' });
  });

  it('end the run if replica 0 fails to run them', async () => {
    const run = threadsOf(1);
    run.say(0, merging);
    run.say(0, { type: 'mergeFailed', error: encodeError(new EvalError('in the merge')) });
    expect(await failureOf(run)).toMatchObject({ name: 'EvalError', message: 'in the merge' });
  });
});

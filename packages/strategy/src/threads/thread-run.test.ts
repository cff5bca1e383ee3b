import { type CollError, InternalError, RuntimeError, UnavailableError } from '@coll/core';
import { SharedBarrier } from '@coll/core/internal';
import { createThreadGroup } from '@coll/core/plugin';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeError } from './thread-errors.js';
import type { ReplicaMessage, ToReplica } from './thread-messages.js';
import { type RunningReplicas, ThreadRun } from './thread-run.js';

/** A run whose threads are test doubles, which send messages in the order of the test. */
function runOf(
  size: number,
  { firstReplica = 0, others, onReport }: Partial<Pick<RunningReplicas, 'firstReplica' | 'others' | 'onReport'>> = {},
) {
  const heard: ToReplica[][] = Array.from({ length: size }, () => []);
  const tell = (replica: number, message: ToReplica) => heard[replica]?.push(message);
  const group = createThreadGroup({ size });
  const acceptEnd = vi.fn();
  const run = new ThreadRun({ group, firstReplica, others, onReport, acceptEnd, tell });
  run.results.catch(() => {});
  return {
    ...{ run, heard, acceptEnd },
    say: (replica: number, message: ReplicaMessage) => run.message(replica, message),
    /** The replica begins a collective. */
    begin: (replica: number) => new SharedBarrier(group.control, size, 0).advance(replica),
  };
}

const failed = (error: Error): ReplicaMessage => ({ type: 'error', error: encodeError(error) });
const returned: ReplicaMessage = { type: 'result', value: 'done', canGoOn: true, printed: 0 };
const merging: ReplicaMessage = { type: 'merge', args: [] };
const consequence = (of: number) =>
  failed(new UnavailableError('ERR_COLL_PEER_FAILED', 'another replica failed', { rank: of }));

/** A test double for the workers, which never leave. */
const workers = { departure: () => new Promise<undefined>(() => {}) };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** The error of the run after all timers have fired. */
async function failureOf({ run }: { readonly run: ThreadRun }): Promise<CollError> {
  vi.runAllTimers();
  return run.results.then(
    () => expect.fail('the run was a success'),
    (error: CollError) => error,
  );
}

describe('the error of a run', () => {
  it('is the cause, even if its consequences in other replicas are reported first', async () => {
    const started = runOf(3);
    started.say(1, consequence(2));
    started.run.exit(1, 0, undefined);
    started.say(0, consequence(2));
    started.say(2, failed(new RangeError('the cause')));
    expect(await failureOf(started)).toMatchObject({ message: 'the cause' });
  });

  it('is the consequence in another replica if the cause is never reported', async () => {
    const started = runOf(2);
    started.say(1, consequence(0));
    vi.advanceTimersByTime(499);
    const settled = vi.fn();
    started.run.results.catch(settled);
    await Promise.resolve();
    expect(settled).not.toHaveBeenCalled();
    expect(await failureOf(started)).toMatchObject({ code: 'ERR_COLL_PEER_FAILED' });
  });

  it('is the failure that a replica reports about itself if nothing else explains it', async () => {
    const started = runOf(2);
    started.say(1, consequence(1));
    started.say(0, failed(new RangeError('heard later')));
    expect(await failureOf(started)).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
  });

  it('is the reported error, not the later exit of the thread', async () => {
    const started = runOf(2);
    started.say(1, failed(new RangeError('no memory')));
    started.run.exit(1, 1, new Error('as it arrives by itself'));
    expect(await failureOf(started)).toMatchObject({ message: 'no memory' });
  });

  it('is the exit of the thread if the replica reported nothing', async () => {
    const crashed = runOf(1);
    crashed.run.exit(0, 1, new RangeError('out of memory'));
    expect(await failureOf(crashed)).toMatchObject({ name: 'RangeError', message: 'replica 0: out of memory' });
    const left = runOf(2);
    left.say(0, returned);
    left.run.exit(0, 0, undefined);
    left.run.exit(1, 7, undefined);
    expect(await failureOf(left)).toMatchObject({
      code: 'ERR_COLL_REPLICA',
      message: 'replica 1: its thread ended with exit code 7 before it returned',
      rank: 1,
    });
  });

  it('does not wait for an explanation of a disagreement once all replicas have reported an error', async () => {
    const started = runOf(2);
    for (const replica of [1, 0])
      started.say(replica, failed(new InternalError('ERR_COLL_MISMATCH', `ranks disagree, on ${replica}`)));
    vi.advanceTimersByTime(0);
    await expect(started.run.results).rejects.toMatchObject({ message: 'ranks disagree, on 0' });
  });

  it('is the first of several errors', async () => {
    const started = runOf(2);
    started.say(1, failed(new Error('first')));
    started.say(0, failed(new Error('second')));
    expect(await failureOf(started)).toMatchObject({ message: 'first' });
  });

  it('is the error that aborts or ends the run', async () => {
    const aborted = runOf(2);
    aborted.run.abort('enough');
    expect(await failureOf(aborted)).toMatchObject({
      ...{ name: 'AbortedError', code: 'ERR_COLL_ABORTED', message: 'run was aborted', cause: 'enough' },
    });
    const ended = runOf(2);
    const reason = new RangeError('elsewhere');
    ended.run.fail(reason);
    expect(await failureOf(ended)).toBe(reason);
  });

  it('names the ended replica that another replica waits for', async () => {
    const started = runOf(2, { firstReplica: 4 });
    const closed = { rank: 4, operation: 'all-reduce' };
    started.say(1, failed(new RuntimeError('ERR_COLL_CLOSED', 'rank 4 has left the group', closed)));
    expect(await failureOf(started)).toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_MERGE', rank: 4, operation: 'all-reduce' },
      message:
        'replicas made different numbers of collectives: replica 4 has ended while replica 5 waits in all-reduce; all replicas must make the same number of steps',
      cause: { code: 'ERR_COLL_CLOSED' },
    });
  });

  it('is the report of a replica whose end meets another collective, not the disagreement', async () => {
    const started = runOf(3);
    started.say(0, failed(new InternalError('ERR_COLL_MISMATCH', 'ranks disagree')));
    vi.advanceTimersByTime(499);
    started.say(1, failed(new RuntimeError('ERR_COLL_MERGE', 'replica 1 has ended while another replica waits')));
    expect(await failureOf(started)).toMatchObject({ message: 'replica 1 has ended while another replica waits' });
  });

  it('is the explanation of another worker, if calls differ and it arrives within half a second', async () => {
    const different = failed(new InternalError('ERR_COLL_MISMATCH', 'ranks disagree'));
    const [reporting, silent] = [runOf(1, { others: workers }), runOf(1, { others: workers })];
    for (const { say } of [reporting, silent]) say(0, different);
    vi.advanceTimersByTime(499);
    reporting.run.fail(new RuntimeError('ERR_COLL_MERGE', 'replica 1 has ended'));
    expect(await failureOf(reporting)).toMatchObject({ message: 'replica 1 has ended' });
    expect(await failureOf(silent)).toMatchObject({ message: 'ranks disagree' });
  });

  it.each([
    ['has left', undefined, { code: 'ERR_COLL_MERGE', message: expect.stringMatching(/^replicas made different/) }],
    ['has failed', new UnavailableError('ERR_COLL_PEER_FAILED', 'disk full'), { message: 'disk full' }],
  ])('waits for the end of a worker whose threads have ended, which %s', async (_, failure, expected) => {
    let end: (failure: Error | undefined) => void = () => {};
    const departure = () => new Promise<Error | undefined>((resolve) => (end = resolve));
    const started = runOf(1, { firstReplica: 2, others: { departure } });
    started.say(0, failed(new RuntimeError('ERR_COLL_CLOSED', 'rank 0 has left the group', { rank: 0 })));
    started.run.fail(new RuntimeError('ERR_COLL_CLOSED', 'worker 0 has left the group', { rank: 0 }));
    const settled = vi.fn();
    started.run.results.catch(settled);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(settled).not.toHaveBeenCalled();
    end(failure);
    await vi.advanceTimersByTimeAsync(0);
    expect(await failureOf(started)).toMatchObject(expected);
  });

  it.each([5, undefined])('is the closed-group error itself if a replica finds rank %s closed', async (rank) => {
    const started = runOf(2, { firstReplica: 4 });
    started.say(1, failed(new RuntimeError('ERR_COLL_CLOSED', 'it was closed', rank === undefined ? {} : { rank })));
    expect(await failureOf(started)).toMatchObject({ code: 'ERR_COLL_CLOSED', message: 'it was closed' });
  });

  it('numbers replicas from the first one of this process', async () => {
    const reports: unknown[] = [];
    const started = runOf(2, { onReport: (replica, value) => reports.push([replica, value]), firstReplica: 4 });
    started.say(1, { type: 'report', value: { a: 1 } });
    expect(reports).toEqual([[5, { a: 1 }]]);
    started.say(0, consequence(5));
    started.say(1, consequence(5));
    expect(await failureOf(started)).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 5 });
    const merged = runOf(3, { firstReplica: 4 });
    for (const replica of [0, 2]) merged.say(replica, merging);
    merged.say(1, returned);
    expect(await failureOf(merged)).toMatchObject({
      ...{ rank: 5, message: expect.stringContaining('replica 5 has ended after 0 while replica 4, 6 waits') },
    });
  });

  it('is the error of the onReport listener', async () => {
    const started = runOf(1, {
      onReport: () => {
        throw new SyntaxError('in the listener');
      },
    });
    started.say(0, { type: 'report', value: 1 });
    expect(await failureOf(started)).toMatchObject({ message: 'in the listener' });
  });
});

describe('a replica that has ended', () => {
  const leave: ToReplica = { type: 'leave' };

  it.each(['before', 'after'])('is asked to leave, once, if another begins a collective %s its end', async (when) => {
    const { run, say, heard, begin } = runOf(3);
    if (when === 'before') begin(2);
    say(0, returned);
    expect(heard).toEqual([when === 'before' ? [leave] : [], [], []]);
    if (when === 'after') begin(2);
    for (let look = 0; look < 2; look++) run.askToLeave();
    expect(heard).toEqual([[leave], [], []]);
    say(1, returned);
    expect(heard).toEqual([[leave], [leave], []]);
    say(2, { ...returned, canGoOn: false });
    const ended = vi.fn();
    void run.results.then(ended);
    for (const replica of [0, 1]) {
      await Promise.resolve();
      expect(ended).not.toHaveBeenCalled();
      say(replica, { type: 'left', canGoOn: false });
    }
    expect(await run.results).toEqual(['done', 'done', 'done']);
    expect(run.canGoOn).toBe(false);
  });

  it('is the error of the run if it meets another collective as it leaves', async () => {
    const started = runOf(2);
    started.begin(1);
    started.say(0, returned);
    started.say(1, { ...returned, canGoOn: false });
    started.say(0, failed(new RuntimeError('ERR_COLL_MERGE', 'replica 0 has ended while another replica waits')));
    expect(await failureOf(started)).toMatchObject({ code: 'ERR_COLL_MERGE' });
  });

  it('is not asked to leave if no replica waits for it, or if it has left together with other workers', () => {
    const [computing, several] = [runOf(2), runOf(2, { others: workers })];
    computing.begin(0);
    several.begin(1);
    for (const { run, say, heard } of [computing, several]) {
      say(0, returned);
      run.askToLeave();
      expect(heard).toEqual([[], []]);
    }
  });
});

describe('merge calls', () => {
  it('run on replica 0 one after the other, and their outcomes are sent to all', async () => {
    const { say, heard, run } = runOf(2);
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
    for (const replica of [1, 0]) say(replica, { type: 'result', value: replica, canGoOn: true, printed: 0 });
    expect(await run.results).toEqual([0, 1]);
  });

  it.each(['before', 'after'])(
    'that one replica omits are the error of the run, also if it ends %s the others report a failed collective',
    async (when) => {
      const started = runOf(3);
      const noticed = failed(new RuntimeError('ERR_COLL_CLOSED', 'rank 1 has left the group', { rank: 1 }));
      started.say(0, merging);
      if (when === 'after') started.say(0, noticed);
      started.say(1, returned);
      if (when === 'before') started.say(0, noticed);
      const error = await failureOf(started);
      expect(error).toBeInstanceOf(RuntimeError);
      expect(error).toMatchObject({
        code: 'ERR_COLL_MERGE',
        message:
          'replicas made different numbers of merge calls: replica 1 has ended after 0 while replica 0 waits in merge call 1 of the run; all replicas must make the same calls in the same order',
        rank: 1,
        operation: 'mergeCall',
      });
    },
  );

  it('that one replica omits explain why its end meets another collective', async () => {
    const started = runOf(2, { firstReplica: 4 });
    started.say(1, failed(new RuntimeError('ERR_COLL_MERGE', 'replica 5 has ended while another replica waits')));
    started.say(0, merging);
    expect(await failureOf(started)).toMatchObject({
      ...{ code: 'ERR_COLL_MERGE', rank: 5, operation: 'mergeCall' },
      message:
        'replicas made different numbers of merge calls: replica 5 has ended after 0 while replica 4 waits in merge call 1 of the run; all replicas must make the same calls in the same order',
      cause: { message: 'replica 5 has ended while another replica waits' },
    });
  });

  it('that only some replicas make are reported as such, even if a disagreement is reported first', async () => {
    const started = runOf(2);
    started.say(1, failed(new InternalError('ERR_COLL_MISMATCH', 'ranks disagree')));
    started.say(0, merging);
    expect(await failureOf(started)).toMatchObject({
      name: 'InternalError',
      message: 'replicas make different calls: replica 0 calls mergeCall, but not all replicas do; ranks disagree',
      code: 'ERR_COLL_MISMATCH',
      operation: 'mergeCall',
      cause: { message: 'ranks disagree' },
    });
  });

  it.each(['ERR_COLL_SHAPE_MISMATCH', 'ERR_COLL_DTYPE_MISMATCH'] as const)('explain %s too', async (code) => {
    const started = runOf(3);
    started.say(0, merging);
    started.say(2, merging);
    started.say(1, failed(new InternalError(code, 'ranks disagree')));
    expect(await failureOf(started)).toMatchObject({
      message: expect.stringContaining('replica 0, 2 calls mergeCall'),
    });
  });

  it('do not explain a disagreement without merge calls', async () => {
    const started = runOf(2);
    started.say(1, failed(new InternalError('ERR_COLL_MISMATCH', 'ranks disagree')));
    expect(await failureOf(started)).toMatchObject({ message: 'ranks disagree' });
  });

  it('do not explain other errors', async () => {
    const started = runOf(2);
    started.say(0, merging);
    started.say(1, failed(new RangeError('something else')));
    expect(await failureOf(started)).toMatchObject({ name: 'RangeError', message: 'something else' });
  });

  it('end the run if replica 0 fails to run them', async () => {
    const started = runOf(1);
    started.say(0, merging);
    started.say(0, { type: 'mergeFailed', error: encodeError(new EvalError('in the merge')) });
    expect(await failureOf(started)).toMatchObject({ name: 'EvalError', message: 'in the merge' });
  });
});

import type { CollError } from '@coll/core';
import { status } from '@coll/native/addon';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { processCallDouble as call, detach } from '../test/process-call-double.js';
import { sliceMillis } from './call-timing.js';
import type { CallHandle, GroupHandle, ProcessBinding } from './process-binding.js';
import { ProcessQueue } from './process-queue.js';

const group = 'a group' as unknown as GroupHandle;

/** A test double of native code with scripted answers, which records its calls. */
class Scripted {
  readonly asked: string[] = [];
  /** Scripted statuses by name of the call; a call without any ends successfully. */
  readonly answers = new Map<string, number[]>();
  readonly ended: number[] = [];

  readonly binding = {
    tryCall: (_: GroupHandle, call: CallHandle) => {
      this.asked.push(`execute ${call}`);
      const answer = this.answers.get(String(call))?.shift() ?? status.done;
      if (answer === status.slice) pass(sliceMillis);
      return answer;
    },
    copiedBytes: () => 0,
    stage: (_: GroupHandle, call: CallHandle) => this.asked.push(`stage ${call}`) > 0,
    submit: (_: GroupHandle, call: CallHandle, id: number, millis: number) => {
      this.asked.push(`submit ${call}${millis === 0 ? '' : ' with a deadline'}`);
      this.ended.push(id, status.done);
    },
    results: () => this.ended.splice(0),
    finish: (_: GroupHandle, call: CallHandle, delivers: boolean) => this.asked.push(`finish ${call} ${delivers}`),
  } as unknown as ProcessBinding;
}

let native: Scripted;
let queue: ProcessQueue;
let failures: string[];
let slowCalls: (readonly [string, number, number])[];

beforeEach(() => {
  // With real time, a machine that is busy with other programs would look like a busy program.
  vi.useFakeTimers({ toFake: ['performance'] });
  native = new Scripted();
  failures = [];
  slowCalls = [];
  queue = new ProcessQueue(native.binding, group, {
    rank: 1,
    stalls: undefined,
    fail: (kind, text) => failures.push(`${kind}: ${text}`),
    end: (answer) => failures.push(`ended by ${answer}`),
    failureOf: () => new Error('the group has failed') as CollError,
    missing: () => ({ missing: [2, 3], quietSeconds: [40, 0] }),
    hasFailed: () => false,
    slow: (...call) => slowCalls.push(call),
  });
});

afterEach(() => {
  vi.useRealTimers();
});

function pass(millis: number): void {
  vi.advanceTimersByTime(millis);
}

it('the process queue executes calls in order and in slices, between which the event loop runs', async () => {
  native.answers.set('first', [status.slice, status.slice, status.waiting]);
  const ends: string[] = [];
  let number = 0;
  const add = async (name: string) => {
    await queue.add(call(name), number++, {});
    ends.push(name);
  };
  const all = ['first', 'second', 'third'].map(add);
  setImmediate(() => native.asked.push('another'));
  expect(native.asked).toEqual(['execute first']);
  expect(queue.isEmpty).toBe(false);
  await Promise.all(all);
  expect(ends).toEqual(['first', 'second', 'third']);
  expect(native.asked.indexOf('another')).toBeLessThan(native.asked.indexOf('execute second'));
  expect(native.asked.filter((asked) => asked !== 'another')).toEqual([
    ...Array(4).fill('execute first'),
    'execute second',
    'execute third',
  ]);
  expect(queue.isEmpty).toBe(true);
  expect(queue.add(call('fourth'), number, {})).toBeUndefined();
});

it('the process queue executes all calls that fit into one slice in one turn of the event loop', async () => {
  native.answers.set('first', [status.slice]);
  const all = ['first', 'second', 'third'].map((name, number) => queue.add(call(name), number, {}));
  await new Promise((resolve) => setImmediate(resolve));
  expect(native.asked).toEqual(['execute first', 'execute first', 'execute second', 'execute third']);
  for (const one of all) await one;
});

it('the process queue lets other code run while a call waits for other members', async () => {
  native.answers.set('first', [status.waiting, status.waiting]);
  const first = queue.add(call('first'), 0, {});
  await new Promise((resolve) => setImmediate(resolve));
  expect(native.asked).toEqual(['execute first', 'execute first']);
  await first;
});

it('the process queue hands a call that must wait for other members to the progress thread, with all later calls', async () => {
  native.answers.set('first', Array(100).fill(status.waiting));
  const first = queue.add(call('first'), 0, {});
  const second = queue.add(call('second'), 1, { timeoutSeconds: 1000 });
  await expect.poll(() => native.asked.at(-1)).toBe('submit second with a deadline');
  expect(native.asked.filter((asked) => !asked.startsWith('execute'))).toEqual([
    'stage first',
    'submit first',
    'stage second',
    'submit second with a deadline',
  ]);
  queue.settle();
  await first;
  await second;
  expect(native.asked.slice(-2)).toEqual(['finish first true', 'finish second true']);
  expect(queue.add(call('third'), 2, {})).toBeUndefined();
});

it('the process queue passes calls to the progress thread while the program is too busy to continue them', async () => {
  const neglected = call('neglected');
  native.answers.set('neglected', Array(4).fill(status.slice));
  const first = queue.add(neglected, 0, {});
  pass(20);
  await expect.poll(() => native.asked).toEqual(['execute neglected', 'stage neglected', 'submit neglected']);
  queue.settle();
  await first;
  native.asked.length = 0;
  const second = queue.add(neglected, 1, {});
  expect(native.asked).toEqual(['execute neglected', 'stage neglected', 'submit neglected']);
  queue.settle();
  await second;
  await new Promise((resolve) => setImmediate(resolve));
  native.asked.length = 0;
  await queue.add(neglected, 2, {});
  expect(native.asked).toEqual(Array(3).fill('execute neglected'));
});

it('the process queue fails the group if the memory of a call is detached between slices', async () => {
  const lost = call('lost');
  native.answers.set('lost', [status.slice]);
  const running = queue.add(lost, 0, {});
  detach(lost);
  await expect(running).rejects.toMatchObject({ code: 'ERR_COLL_BUFFER', rank: 1 });
  expect(native.asked).toEqual(['execute lost']);
  expect(failures).toEqual([expect.stringContaining('failed: cannot continue')]);
});

it('the process queue does not pass a waiting call with detached memory to the progress thread', async () => {
  const lost = call('lost');
  native.answers.set('first', Array(100).fill(status.waiting));
  const first = queue.add(call('first'), 0, {});
  const second = queue.add(lost, 1, {});
  detach(lost);
  await expect(second).rejects.toMatchObject({ code: 'ERR_COLL_BUFFER', rank: 1 });
  expect(native.asked.filter((asked) => !asked.startsWith('execute'))).toEqual(['stage first', 'submit first']);
  expect(failures).toEqual([expect.stringContaining('failed: cannot continue')]);
  queue.settle();
  await first;
  expect(queue.isEmpty).toBe(true);
});

it('the process queue passes failed calls and calls with deadlines to the progress thread', async () => {
  native.answers.set('failed', [status.slice, status.failed]);
  native.answers.set('late', Array(100).fill(status.slice));
  const failed = queue.add(call('failed'), 0, {});
  await expect.poll(() => native.asked).toEqual(['execute failed', 'execute failed', 'submit failed']);
  queue.settle();
  await failed;
  native.asked.length = 0;
  const late = queue.add(call('late'), 1, { timeoutSeconds: 0.01 });
  await expect.poll(() => native.asked.at(-1)).toBe('submit late with a deadline');
  queue.settle();
  await late;
});

it('the process queue fails the group when a signal is aborted between slices', async () => {
  const controller = new AbortController();
  native.answers.set('aborted', [status.slice, status.slice, status.failed]);
  const running = queue.add(call('aborted'), 0, { signal: controller.signal });
  controller.abort('enough');
  expect(failures).toEqual(['aborted: aborted: enough']);
  await expect.poll(() => native.asked.at(-1)).toBe('submit aborted');
  queue.settle();
  await running;
});

it('the process queue reports why the group failed if no thread or no memory is available', async () => {
  native.binding.submit = () => {
    throw new Error('Resource temporarily unavailable');
  };
  native.answers.set('poor', [status.failed]);
  await expect(queue.add(call('poor'), 0, {})).rejects.toThrow('the group has failed');
  expect(queue.isEmpty).toBe(true);
});

it('the process queue rejects running calls when the group is closed, and executes no more', async () => {
  native.answers.set('first', [status.slice, status.slice]);
  const running = [queue.add(call('first'), 0, {}), queue.add(call('second'), 1, {})];
  queue.close();
  for (const one of running) await expect(one).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
  await new Promise((resolve) => setImmediate(resolve));
  expect(native.asked.filter((asked) => asked.startsWith('execute'))).toEqual(['execute first']);
});

it('the process queue reports which ranks a call has been waiting for if it waits too long', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
  const reports: unknown[] = [];
  const stalling = new ProcessQueue(native.binding, group, {
    rank: 1,
    stalls: { seconds: 10, repeats: false, tell: (_, stall) => reports.push(stall) },
    fail: () => {},
    end: () => {},
    failureOf: () => new Error('the group has failed') as CollError,
    missing: () => ({ missing: [2, 3], quietSeconds: [40, 0] }),
    hasFailed: () => false,
    slow: () => {},
  });
  native.answers.set('first', [status.failed]);
  const first = stalling.add(call('first'), 5, {});
  // The first look, and four more.
  pass(12_500);
  const missing = { missing: [2, 3], quietSeconds: [40, 0] };
  expect(reports).toEqual([{ operation: 'all-reduce sum', sequence: 5, ...missing, seconds: 10 }]);
  stalling.settle();
  await first;
  expect(reports).toHaveLength(2);
  expect(vi.getTimerCount()).toBe(0);
});

it('the process queue reports a repeated call that took far longer than before', async () => {
  const repeated = { ...call('repeated'), isKept: true };
  let number = 0;
  for (const millis of [2, 2, 2, 2, 2, 3000]) {
    native.answers.set('repeated', [status.slice]);
    const ended = queue.add(repeated, number++, {});
    pass(millis);
    await new Promise((resolve) => setImmediate(resolve));
    // After a long pause, the progress thread continues the call.
    queue.settle();
    await ended;
  }
  expect(slowCalls).toEqual([['all-reduce sum', 3, 0.002]]);
});

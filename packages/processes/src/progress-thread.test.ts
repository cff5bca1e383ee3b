import type { CollError } from '@coll/core';
import { status } from '@coll/native/addon';
import { beforeEach, expect, it } from 'vitest';
import { detach, processCallDouble } from '../test/process-call-double.js';
import { PendingCall } from './pending-call.js';
import type { CallHandle, GroupHandle, ProcessBinding } from './process-binding.js';
import { ProgressThread } from './progress-thread.js';

const group = 'a group' as unknown as GroupHandle;

let asked: string[];
let results: number[];
/** Names of calls that cannot be staged before an earlier call has finished. */
let waiting: Set<string>;
let refused: Error | undefined;
let copiedBytes: number;
let thread: ProgressThread;

beforeEach(() => {
  asked = [];
  results = [];
  waiting = new Set();
  refused = undefined;
  copiedBytes = 0;
  const binding = {
    copiedBytes: () => copiedBytes,
    stage: (_: GroupHandle, call: CallHandle) => asked.push(`stage ${call}`) > 0 && !waiting.has(String(call)),
    submit: (_: GroupHandle, call: CallHandle, id: number, millis: number) => {
      asked.push(`submit ${call} as ${id} for ${millis}`);
      if (refused) throw refused;
    },
    results: () => results.splice(0),
    finish: (_: GroupHandle, call: CallHandle, delivers: boolean) => asked.push(`finish ${call} ${delivers}`),
  } as unknown as ProcessBinding;
  thread = new ProgressThread(binding, group, {
    rank: 1,
    end: (answer) => asked.push(`end by ${answer}`),
    failureOf: (_, number) => new Error(`collective ${number} has failed`) as CollError,
  });
});

function pendingCall(name: string, number: number, millis = 0): PendingCall {
  return new PendingCall({ call: processCallDouble(name), number, millis, signal: undefined, abort: () => {} });
}

it('the progress thread copies the inputs of a call, executes it, and then copies back the results', async () => {
  const [first, second] = [pendingCall('first', 3), pendingCall('second', 4, 5000)];
  expect([thread.take(first), thread.take(second)]).toEqual([true, true]);
  expect([thread.isIdle, thread.first]).toEqual([false, first]);
  results.push(3, status.done);
  thread.settle();
  await first.ended;
  expect([thread.isIdle, thread.first]).toEqual([false, second]);
  results.push(4, status.done);
  thread.settle();
  await second.ended;
  expect([thread.isIdle, thread.first]).toEqual([true, undefined]);
  expect(asked).toEqual([
    'stage first',
    'submit first as 3 for 0',
    'stage second',
    'submit second as 4 for 5000',
    'finish first true',
    'finish second true',
  ]);
});

it('the progress thread does not take a call that must wait for an earlier call', () => {
  waiting.add('early');
  expect(thread.take(pendingCall('early', 0))).toBe(false);
  expect(thread.isIdle).toBe(true);
  expect(asked).toEqual(['stage early']);
});

it('the progress thread does not copy detached memory', () => {
  const broken = pendingCall('broken', 0);
  broken.isBroken = true;
  expect(thread.take(broken)).toBe(true);
  expect(asked).toEqual(['submit broken as 0 for 0']);
});

it('the progress thread releases the copies made for a call that it cannot execute', () => {
  refused = new Error('no thread');
  expect(() => thread.take(pendingCall('refused', 0))).toThrow(refused);
  expect(thread.isIdle).toBe(true);
  expect(asked.at(-1)).toBe('finish refused false');
});

it('the progress thread makes the group and the call fail when a call times out', async () => {
  const late = pendingCall('late', 0, 10);
  thread.take(late);
  results.push(0, status.expired);
  thread.settle();
  expect(asked.slice(-2)).toEqual([`end by ${status.expired}`, 'submit late as 0 for 0']);
  expect(thread.isIdle).toBe(false);
  results.push(0, status.failed);
  thread.settle();
  await expect(late.ended).rejects.toThrow('collective 0 has failed');
  expect(asked.at(-1)).toBe('finish late false');
});

it('the progress thread writes no results to memory that was detached meanwhile', async () => {
  const lost = pendingCall('lost', 0);
  thread.take(lost);
  detach(lost.call);
  results.push(0, status.done);
  thread.settle();
  await expect(lost.ended).rejects.toMatchObject({ code: 'ERR_COLL_BUFFER', rank: 1 });
  expect(asked.at(-1)).toBe('finish lost false');
});

it('the progress thread releases all its memory when it is closed', () => {
  const calls = [pendingCall('first', 0), pendingCall('second', 1)];
  for (const call of calls) thread.take(call);
  expect(thread.release()).toEqual(calls);
  expect(thread.isIdle).toBe(true);
  expect(asked.slice(-2)).toEqual(['finish first false', 'finish second false']);
});

it('the progress thread limits the bytes copied for its calls, but accepts a single call of any size', async () => {
  copiedBytes = 100e6;
  const [first, second] = [pendingCall('first', 0), pendingCall('second', 1)];
  expect([thread.take(first), thread.take(second)]).toEqual([true, false]);
  expect(asked).toEqual(['stage first', 'submit first as 0 for 0']);
  results.push(0, status.done);
  thread.settle();
  await first.ended;
  copiedBytes = 300e6;
  expect(thread.take(second)).toBe(true);
});

it('the progress thread counts the copied bytes of a call until the call has ended', async () => {
  copiedBytes = 100e6;
  const calls = [0, 1, 2, 3].map((number) => pendingCall(`call ${number}`, number)) as [PendingCall, ...PendingCall[]];
  const [first, ...others] = calls;
  expect(thread.take(first)).toBe(true);
  copiedBytes = 2 ** 27 - 100e6;
  const taken = others.map((call) => {
    const isTaken = thread.take(call);
    copiedBytes = 1;
    return isTaken;
  });
  expect(taken).toEqual([true, false, false]);
  results.push(0, status.done);
  thread.settle();
  await first.ended;
  copiedBytes = 100e6;
  expect(thread.take(calls[2] as PendingCall)).toBe(true);
  copiedBytes = 1;
  expect(thread.take(calls[3] as PendingCall)).toBe(false);
});

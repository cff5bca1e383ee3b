import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import { CollError } from '@coll/core';
import {
  type CallEvent,
  type CallRecorder,
  type RecordedCall,
  recordedCommunicator,
  recordedGroup,
} from '@coll/core/internal';
import { afterEach, expect, it, vi } from 'vitest';
import { CallPublisher } from './call-publisher.js';

const place = { id: 'g', kind: 'threads', engine: 'native', transport: 'memory', size: 4 };
const call: RecordedCall = {
  collective: { kind: 'all-reduce', op: 'sum' },
  request: undefined,
  bytes: 32,
  inputs: [{ dtype: 'float32', byteLength: 32 }],
  outputs: [{ dtype: 'float32', byteLength: 32 }],
};

function communicatorOf(rank: number) {
  const group = recordedGroup({ ...place, rank });
  return { group, communicator: recordedCommunicator({ recorded: group }, 'ring', 'exact') as never };
}

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Subscribes to all events of calls, as Node's documentation shows it. */
function heard(note: (name: string, event: CallEvent) => unknown = (name) => name): unknown[] {
  const events: unknown[] = [];
  const names = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
  const on = (name: string) => (event: object) => void events.push(note(name, event as CallEvent));
  const subscribers = Object.fromEntries(names.map((name) => [name, on(name)])) as never;
  const calls = tracingChannel('coll:collective');
  calls.subscribe(subscribers);
  ends.push(() => calls.unsubscribe(subscribers));
  return events;
}

function heardOf(name: string): unknown[] {
  const messages: unknown[] = [];
  const subscriber = (message: unknown) => void messages.push(message);
  channel(name).subscribe(subscriber);
  ends.push(() => channel(name).unsubscribe(subscriber));
  return messages;
}

it('a call that ends at once is published as start and end, and has a result at its end', () => {
  const events = heard((name, event) => [name, 'result' in event]);
  const publisher = new CallPublisher();
  publisher.end(publisher.begin(communicatorOf(1).communicator, call, false), true);
  expect(events).toEqual([
    ['start', false],
    ['end', true],
  ]);
});

it('a call that goes on is published as a promise of Node, with the same event', () => {
  const events = heard((name, event) => ({ name, hasResult: 'result' in event, event }));
  const publisher = new CallPublisher();
  const number = publisher.begin(communicatorOf(1).communicator, call, false);
  publisher.leave(number);
  expect(events).toMatchObject([{ name: 'start' }, { name: 'end' }]);
  expect(events).toMatchObject([{}, { hasResult: false }]);
  publisher.end(number, true);
  expect(events.map((one) => (one as { name: string }).name)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
  expect(new Set(events.map((one) => (one as { event: CallEvent }).event)).size).toBe(1);
});

it.each([
  ['at once', ['start', 'error', 'end'], false],
  ['later', ['start', 'end', 'error', 'asyncStart', 'asyncEnd'], true],
])('a call that fails %s publishes its error', (_, names, leaves) => {
  const errors = new Set<unknown>();
  const events = heard((name, event) => {
    if ('error' in event) errors.add(event.error);
    return name;
  });
  const publisher = new CallPublisher();
  const number = publisher.begin(communicatorOf(1).communicator, call, false);
  if (leaves) publisher.leave(number);
  const error = new Error('lost');
  publisher.end(number, false, error);
  expect(events).toEqual(names);
  expect([...errors]).toEqual([error]);
});

it('an event describes the call, but not its values', () => {
  const events = heard((_, event) => ({ ...event }));
  const { communicator } = communicatorOf(1);
  new CallPublisher().begin(communicator, call, false);
  expect(events).toEqual([
    {
      ...{ operation: 'all-reduce sum', kind: 'all-reduce', op: 'sum', dtype: 'float32', elements: 8, bytes: 32 },
      ...{ peer: undefined, group: 'g', rank: 1, size: 4, number: 0, algorithm: 'ring' },
      ...{ engine: 'native', transport: 'memory' },
    },
  ]);
});

it('an event has the size of one rank if the thread has the buffers of all ranks', () => {
  const events = heard((_, { elements, bytes, rank }) => ({ elements, bytes, rank }));
  new CallPublisher().begin(communicatorOf(-1).communicator, call, false);
  expect(events).toEqual([{ elements: 2, bytes: 8, rank: -1 }]);
});

it.each([
  ['broadcast', { collective: { kind: 'broadcast', root: 3 } } as const, { peer: 3, op: undefined }],
  ['barrier', { request: { ...requestOf('barrier') } }, { kind: 'all-reduce' }],
  ['measure the links', { request: { ...requestOf('measure') } }, {}],
])('the operation of a call is its name without ranks: %s', (operation, changed, fields) => {
  const events = heard((_, event) => event);
  new CallPublisher().begin(communicatorOf(1).communicator, { ...call, ...changed }, false);
  expect(events).toMatchObject([{ operation, ...fields }]);
});

function requestOf(purpose: 'barrier' | 'measure') {
  return { collective: { kind: 'all-reduce', op: 'sum' }, dtype: 'float32', length: 0, purpose } as const;
}

it('a message names its peer and its number', () => {
  const events = heard((_, event) => ({ ...event }));
  const publisher = new CallPublisher();
  publisher.message(communicatorOf(1).group, { verb: 'send', peer: 2, number: 5, dtype: 'int16', bytes: 6 });
  expect(events).toMatchObject([
    { ...{ operation: 'send', kind: 'send', dtype: 'int16', elements: 3, bytes: 6, peer: 2, number: 5, rank: 1 } },
  ]);
});

it('a call begins in the async context of its caller', () => {
  const storage = new AsyncLocalStorage<string>();
  const events = heard(() => storage.getStore());
  const publisher = new CallPublisher();
  storage.run('caller', () => publisher.begin(communicatorOf(1).communicator, call, false));
  expect(events).toEqual(['caller']);
});

it('numbers are those of the group, whether calls were heard or not', () => {
  const { communicator } = communicatorOf(1);
  const publisher = new CallPublisher();
  publisher.end(publisher.begin(communicator, call, false), true);
  const events = heard((_, { number }) => number);
  publisher.begin(communicator, call, false);
  expect(events).toEqual([1]);
});

it('a call that began unheard publishes no end', () => {
  const { communicator } = communicatorOf(1);
  const publisher = new CallPublisher();
  const unheard = publisher.begin(communicator, call, false);
  const events = heard();
  const number = publisher.begin(communicator, call, true);
  publisher.end(unheard, true);
  publisher.leave(number);
  expect(events).toEqual(['start', 'end']);
});

it('calls and notes are passed on to the recorder', () => {
  const resumed: number[] = [];
  const recorder = {
    begin: vi.fn(() => 7),
    message: vi.fn(() => 8),
    leave: vi.fn(),
    resume: <T>(number: number, action: () => T) => {
      resumed.push(number);
      return action();
    },
    end: vi.fn(),
    note: vi.fn(),
    progress: vi.fn(),
  };
  const publisher = new CallPublisher(recorder satisfies CallRecorder);
  const { communicator, group } = communicatorOf(1);
  heard();
  const message = { verb: 'send', peer: 2, number: 5, dtype: 'int16', bytes: 6 } as const;
  expect([publisher.begin(communicator, call, false), publisher.message(group, message)]).toEqual([7, 8]);
  publisher.leave(7);
  expect(publisher.resume(7, () => 'result')).toBe('result');
  expect(resumed).toEqual([7]);
  publisher.end(7, true);
  publisher.note({ kind: 'opened', text: '', group });
  expect(recorder.begin).toHaveBeenCalledWith(communicator, call, false);
  expect(recorder.leave).toHaveBeenCalledWith(7);
  expect(recorder.end).toHaveBeenCalledWith(7, true, undefined);
  expect(recorder.note).toHaveBeenCalledOnce();
});

it('groups are published when they open, fail and close', () => {
  const [opened, lost, closed] = ['opened', 'lost', 'closed'].map((name) => heardOf(`coll:group:${name}`));
  const publisher = new CallPublisher();
  const { group } = communicatorOf(1);
  const error = new CollError('ERR_COLL_PEER_FAILED', 'rank 2 was lost', { rank: 2 });
  publisher.note({ kind: 'opened', text: '', group });
  publisher.note({ kind: 'failure', text: 'text', group, rank: 2, error });
  publisher.note({ kind: 'closed', text: '', group });
  const { id: _, ...fields } = place;
  const event = { ...fields, group: 'g', rank: 1, parent: undefined };
  expect([opened, closed]).toEqual([[event], [event]]);
  expect(lost).toEqual([{ ...event, code: 'ERR_COLL_PEER_FAILED', message: 'rank 2 was lost', failedRank: 2 }]);
});

it('the message of a failure is left out if it may contain names of variables', () => {
  const lost = heardOf('coll:group:lost');
  const error = new CollError('ERR_COLL_MISMATCH', 'rank 2 creates variable "secret"');
  new CallPublisher().note({ kind: 'failure', text: '', group: communicatorOf(1).group, error });
  expect(lost).toMatchObject([{ code: 'ERR_COLL_MISMATCH', message: undefined }]);
});

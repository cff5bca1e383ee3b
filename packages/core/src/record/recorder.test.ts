import { ringAlgorithm } from '@coll/ring';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Collective } from '../collectives/collective.js';
import { jsEngine } from '../js/js-engine.js';
import { tensor } from '../values/tensor.js';
import { callStates, noteKinds, recordEnds, recordedVerbs, recordLayout } from './layout.js';
import { Recorder, recordBytes } from './recorder.js';
import {
  type RecordedCall,
  type RecordedCommunicator,
  type RecordedGroup,
  recordedCommunicator,
  recordedGroup,
  setRecorder,
} from './recorder-hook.js';

const { header, communicator: communicatorTable, note: noteTable, call: callTable } = recordLayout;
const communicatorBegin = header.bytes;
const noteBegin = communicatorBegin + communicatorTable.bytes * communicatorTable.length;
const callBegin = noteBegin + noteTable.bytes * noteTable.length;

const thread = {
  ...{ pid: 7, thread: 2, process: 'aa', host: 'host-a', program: 'train.mjs', runtime: 'Node 20', release: '1.0.0' },
  ...{ job: 'digits', threadName: 'replica 2', clockOrigin: 5_000_000 },
};

let view: DataView;
let recorder: Recorder;
let group: RecordedGroup;

beforeEach(() => {
  const memory = new ArrayBuffer(recordBytes);
  view = new DataView(memory);
  recorder = new Recorder(memory, thread);
  const identity = { id: 'group-1', kind: 'threads', engine: 'js', transport: 'memory', size: 4, rank: 2 };
  group = recordedGroup(identity);
});

const word = (at: number) => view.getInt32(at, true);
const number = (at: number) => view.getFloat64(at, true);
const callAt = (entry: number) => callBegin + entry * callTable.bytes;
const stateOf = (entry: number) => callStates[view.getUint8(callAt(entry) + callTable.fields.state)];

function text(at: number, most: number): string {
  const bytes = new Uint8Array(view.buffer, at, most);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? most : end));
}

function call(collective: Collective): RecordedCall {
  const buffers = [{ dtype: 'float32', byteLength: 24 }] as const;
  return { collective, request: undefined, bytes: 24, inputs: buffers, outputs: buffers };
}

const allReduce = call({ kind: 'all-reduce', op: 'sum' });

describe('a recorder', () => {
  it('describes its thread', () => {
    const { fields, texts } = header;
    expect(text(fields.magic, 8)).toBe(recordLayout.magic);
    expect(word(fields.version)).toBe(recordLayout.version);
    expect(word(fields.bytes)).toBe(recordBytes);
    expect([word(fields.pid), word(fields.thread)]).toEqual([7, 2]);
    expect(text(fields.host, texts.host)).toBe('host-a');
    expect(text(fields.threadName, texts.threadName)).toBe('replica 2');
    expect(number(fields.begun)).toBeGreaterThan(5_000_000);
    expect(recordEnds[word(fields.end)]).toBe('open');
  });

  it('keeps what a call does, its times and its end', () => {
    const communicator = recordedCommunicator({ recorded: group }, 'ring', 'exact');
    const made = recorder.begin(communicator as never, call({ kind: 'broadcast', root: 3 }), false);
    const { fields } = callTable;
    const at = callAt(0);
    expect(recordedVerbs[view.getUint8(at + fields.verb)]).toBe('broadcast');
    expect(view.getUint16(at + fields.peer, true)).toBe(3);
    expect(number(at + fields.bytes)).toBe(24);
    expect(stateOf(0)).toBe('running');
    expect(number(at + fields.ended)).toBe(0);
    recorder.end(made, true);
    expect(stateOf(0)).toBe('done');
    expect(number(at + fields.ended)).toBeGreaterThanOrEqual(number(at + fields.begun));
    expect(view.getUint16(at + fields.peer, true)).toBe(3);
    expect(word(at + fields.communicator)).toBe(1);
    expect(text(communicatorBegin + communicatorTable.fields.group, 48)).toBe('group-1');
    expect(text(communicatorBegin + communicatorTable.fields.algorithm, 40)).toBe('ring');
  });

  it('numbers the calls of a group in the order in which they are made, over all its communicators', () => {
    for (const algorithm of ['ring', 'direct', 'ring']) {
      const communicator = recordedCommunicator({ recorded: group }, algorithm, 'coarse');
      recorder.end(recorder.begin(communicator as never, allReduce, false), true);
    }
    const numbers = [0, 1, 2].map((entry) => word(callAt(entry) + callTable.fields.number));
    expect(numbers).toEqual([0, 1, 2]);
  });

  it('keeps the latest calls, and leaves a later call alone when an earlier one ends', () => {
    const communicator = recordedCommunicator({ recorded: group }, 'ring', 'coarse');
    const begin = () => recorder.begin(communicator as never, allReduce, false);
    const first = begin();
    for (let made = 1; made < callTable.length; made++) recorder.end(begin(), true);
    const latest = begin();
    recorder.end(first, false);
    expect(word(header.fields.callsMade)).toBe(callTable.length + 1);
    expect(word(callAt(0) + callTable.fields.number)).toBe(callTable.length);
    expect(stateOf(0)).toBe('running');
    recorder.end(latest, false);
    expect(stateOf(0)).toBe('failed');
  });

  it('writes every field of an entry that another call had before', () => {
    const [at, { fields }] = [callAt(0), callTable];
    new Uint8Array(view.buffer, at, callTable.bytes).fill(0xff);
    const made = recordedCommunicator({ recorded: group }, 'ring', 'engine') as RecordedCommunicator;
    recorder.begin(made, allReduce, false);
    const words = [fields.communicator, fields.number, fields.waitedFor].map((field) => word(at + field));
    const numbers = [fields.bytes, fields.begun, fields.firstData, fields.ended, fields.waited];
    expect([words, numbers.map((field) => number(at + field))]).toEqual([
      [1, 0, 0],
      [24, 0, 0, 0, 0],
    ]);
    expect(stateOf(0)).toBe('running');
    expect(view.getUint16(at + fields.peer, true)).toBe(0xffff);
    expect([word(header.fields.current), word(header.fields.callsMade)]).toEqual([1, 1]);
  });

  it('tells the engine where to write the times of the running call, and only while it runs', () => {
    const communicator = recordedCommunicator({ recorded: group }, 'ring', 'engine');
    const made = recorder.begin(communicator as never, allReduce, false);
    expect(word(header.fields.current)).toBe(1);
    expect(number(callAt(0) + callTable.fields.begun)).toBe(0);
    recorder.leave();
    expect(word(header.fields.current)).toBe(0);
    recorder.begin(communicator as never, allReduce, true);
    expect(word(header.fields.current)).toBe(0);
    expect(stateOf(1)).toBe('queued');
    expect(number(callAt(1) + callTable.fields.begun)).toBeGreaterThan(0);
    recorder.end(made, true);
  });

  it('keeps messages by their number between two ranks', () => {
    const made = recorder.message(group, { verb: 'receive', peer: 1, number: 5, dtype: 'int32', bytes: 40 });
    const { fields } = callTable;
    expect(recordedVerbs[view.getUint8(callAt(0) + fields.verb)]).toBe('receive');
    expect(word(callAt(0) + fields.number)).toBe(5);
    expect(view.getUint16(callAt(0) + fields.peer, true)).toBe(1);
    recorder.end(made, true);
    expect([stateOf(0), group.calls]).toEqual(['done', 0]);
  });

  it('keeps notes, shortens their texts, and marks a closed group', () => {
    recorder.note({ kind: 'opened', text: 'é'.repeat(300), group });
    recorder.note({ kind: 'failure', text: 'rank 1 was lost', group, rank: 1, call: 9 });
    recorder.note({ kind: 'closed', text: '', group });
    const { fields, texts } = noteTable;
    expect(text(noteBegin + fields.text, texts.text)).toBe('é'.repeat(texts.text / 2));
    const second = noteBegin + noteTable.bytes;
    expect(noteKinds[word(second + fields.kind)]).toBe('failure');
    expect([word(second + fields.rank), word(second + fields.call)]).toEqual([1, 9]);
    expect(text(second + fields.text, texts.text)).toBe('rank 1 was lost');
    expect(number(communicatorBegin + communicatorTable.fields.closed)).toBeGreaterThan(0);
  });

  it('describes a communicator anew whose entry others have taken', () => {
    const first = recordedCommunicator({ recorded: group }, 'first', 'coarse');
    recorder.begin(first as never, allReduce, false);
    for (let made = 0; made < communicatorTable.length; made++)
      recorder.begin(recordedCommunicator({ recorded: group }, 'other', 'coarse') as never, allReduce, false);
    const made = recorder.begin(first as never, allReduce, false);
    const entry = word(callAt(made - 1) + callTable.fields.communicator);
    const at = communicatorBegin + ((entry - 1) % communicatorTable.length) * communicatorTable.bytes;
    expect(text(at + communicatorTable.fields.algorithm, 40)).toBe('first');
    expect(word(at)).toBe(entry);
  });

  it('keeps how the thread ends', () => {
    recorder.close(3);
    expect([word(header.fields.exitCode), recordEnds[word(header.fields.end)]]).toEqual([3, 'failed']);
  });

  it('needs no secure context for the groups of a thread', () => {
    vi.stubGlobal('crypto', {});
    const ids = [2, 3].map((size) => jsEngine.communicator(size, ringAlgorithm()).group.recorded?.identity.id ?? '');
    vi.unstubAllGlobals();
    for (const id of ids) expect(id.length).toBeLessThanOrEqual(communicatorTable.texts.group);
    expect(new Set(ids).size).toBe(2);
  });

  it('records the calls of a communicator, and nothing once it is removed', async () => {
    setRecorder(recorder);
    const communicator = jsEngine.communicator(2, ringAlgorithm());
    const buffers = [tensor([1]), tensor([2])];
    communicator.runSync({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
    await communicator.run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
    setRecorder(undefined);
    communicator.runSync({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
    expect(word(header.fields.callsMade)).toBe(2);
    expect([stateOf(0), stateOf(1)]).toEqual(['done', 'done']);
    expect(text(communicatorBegin + communicatorTable.fields.kind, 24)).toBe('one thread');
  });
});

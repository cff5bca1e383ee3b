import { Worker } from 'node:worker_threads';
import { createThreadGroup } from '@coll/core/plugin';
import { ring } from '@coll/ring';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadingOf } from '../node/module-loading.js';
import { Latch } from './latch.js';
import { type ReplicaListener, ReplicaWorker } from './replica-worker.js';
import type { RunMessage, ThreadStart } from './thread-messages.js';

const { name, module } = ring;

/** Starts the thread of one replica with this function, and records its messages and output. */
function workerOf(replica: string, { setup, firstReplica = 0, ...more }: Partial<ThreadStart & RunMessage> = {}) {
  const heard: unknown[] = [];
  const posted: unknown[] = [];
  const exited = new Latch();
  let crash: unknown;
  let whenHeard = () => {};
  const listener: ReplicaListener = {
    message: (_, message) => {
      heard.push(message.type);
      posted.push(message);
      whenHeard();
    },
    exit: (_, code, error) => {
      heard.push(code);
      crash = error;
      exited.open();
    },
  };
  const start = {
    replica: 0,
    firstReplica,
    devices: ['cpu:0'],
    group: createThreadGroup({ size: 1 }),
    setup: setup ?? { plugin: { name, module, options: undefined } },
    endRequests: new Int32Array(new SharedArrayBuffer(12)),
  };
  const run: RunMessage = {
    type: 'run',
    module: `data:text/javascript,${encodeURIComponent(`export default ${replica}`)}`,
    exportName: undefined,
    tsx: undefined,
    args: [],
    ...more,
  };
  const worker = new ReplicaWorker(start, loadingOf([module]), listener);
  worker.run(run, []);
  const message = new Promise<void>((resolve) => {
    whenHeard = resolve;
  });
  /** Ends the thread after its first message. @returns its uncaught error, if any */
  const ended = async () => {
    await message;
    await worker.end(10_000);
    expect(await exited.opens(10_000)).toBe(true);
    return crash;
  };
  return { worker, run, heard, posted, message, ended };
}

// Fakes only the timers that wait for a thread; the threads themselves run in real time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('ending a replica worker', () => {
  it('waits at most the grace period for a replica that reports nothing', async () => {
    const { worker, heard, message } = workerOf('(replica) => { replica.report(1); for (;;); }');
    await message;
    const ending = worker.end(200);
    await vi.advanceTimersByTimeAsync(199);
    expect(heard).toEqual(['report']);
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(heard).toEqual(['report', 1]);
  });

  it('waits at most the grace period for a thread with pending work', async () => {
    const { worker, heard, message } = workerOf('() => { setInterval(() => {}, 1000); }');
    await message;
    const ending = worker.end(500);
    // Its result has arrived, so the first of two grace periods ends at once. Output gets 2 s of
    // fake time.
    await vi.advanceTimersByTimeAsync(499);
    expect(heard).toEqual(['result']);
    await vi.advanceTimersByTimeAsync(2001);
    await ending;
    expect(heard).toEqual(['result', 1]);
  });

  it('waits for output of the replica after its result', async () => {
    // The thread blocks before its last output has been transferred.
    const { worker, heard, message } = workerOf('() => { setImmediate(() => { for (;;); }); }');
    await message;
    const terminate = vi.spyOn(Worker.prototype, 'terminate');
    const ending = worker.end(500);
    await vi.advanceTimersByTimeAsync(1999);
    expect(terminate).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(terminate).toHaveBeenCalledOnce();
    expect(heard).toEqual(['result', 1]);
  });

  it('waits as long as the replica continues to print', async () => {
    const terminate = vi.spyOn(Worker.prototype, 'terminate');
    const dots: unknown[] = [];
    process.once('worker', (thread: Worker) => thread.on('message', (dot) => dots.push(dot)));
    // The output at the end of the thread takes three dots, and the test advances the clock by 1.9 s
    // for each.
    const { worker, heard, message } = workerOf(`() => {
      const { parentPort } = process.getBuiltinModule('node:worker_threads');
      const send = process.stdout._writev.bind(process.stdout);
      const dot = (left, through) => {
        if (left === 0) return through();
        const sent = () => {
          parentPort.postMessage('.');
          setTimeout(dot, 50, left - 1, through);
        };
        send([{ chunk: '.', encoding: 'utf8' }], sent);
      };
      process.stdout._writev = (_, through) => dot(3, through);
    }`);
    await message;
    const opens = vi.spyOn(Latch.prototype, 'opens');
    const ending = worker.end(500);
    // From its second wait on, the worker waits for output.
    while (opens.mock.calls.length < 2) await new Promise(setImmediate);
    for (let count = 1; count <= 3; count++) {
      while (dots.length < count) await new Promise(setImmediate);
      await vi.advanceTimersByTimeAsync(1900);
    }
    expect(terminate).not.toHaveBeenCalled();
    await ending;
    expect(heard).toEqual(['result', 0]);
  });

  it('waits at most the grace period for a run under way', async () => {
    const { worker, run, heard, message } = workerOf('(replica, waits) => (waits ? new Promise(() => {}) : 5)');
    await message;
    await worker.rest(0);
    worker.run({ ...run, args: [true] }, []);
    const ending = worker.end(200);
    await vi.advanceTimersByTimeAsync(199);
    expect(heard).toEqual(['result']);
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(heard).toEqual(['result', 1]);
  });

  it('does not terminate a thread that exits by itself', async () => {
    const { worker, heard } = workerOf('() => 5');
    await worker.end(500);
    expect(heard).toEqual(['result', 0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the thread of a replica', () => {
  beforeEach(() => {
    vi.useRealTimers();
  });

  it('reports uncaught errors with their class and the replica number', async () => {
    const code = "() => { setTimeout(() => { throw new RangeError('late'); }); return new Promise(() => {}); }";
    const { posted, heard, ended } = workerOf(code, { firstReplica: 4 });
    expect(await ended()).toMatchObject({ name: 'RangeError', message: expect.stringContaining('late') });
    expect(heard).toEqual(['error', 1]);
    const error = { name: 'RangeError', message: 'replica 4: late', fields: { rank: 4 } };
    expect(posted).toMatchObject([{ type: 'error', error: [error] }]);
  });

  it('does not report an uncaught exception if the module has a listener for such exceptions', async () => {
    const code = `() => new Promise((resolve) => {
      process.on('uncaughtException', () => resolve('caught'));
      setTimeout(() => { throw new RangeError('late'); });
    })`;
    const { posted, heard, ended } = workerOf(code);
    expect(await ended()).toBeUndefined();
    expect(heard).toEqual(['result', 0]);
    expect(posted).toEqual([{ type: 'result', value: 'caught', canGoOn: true, printed: 0 }]);
  });

  it('has the plug-in of its strategy', async () => {
    const absent = { plugin: { name: 'absent', module: 'data:text/javascript,', options: undefined } };
    const { posted, ended } = workerOf('() => 1', { setup: absent });
    await ended();
    const message = expect.stringContaining('exports no plug-in called "absent"');
    expect(posted).toMatchObject([{ type: 'error', error: [{ message }] }]);
  });

  it.each([
    [undefined, 'export const replica = () => 5;', { type: 'result', value: 5, canGoOn: true, printed: 0 }],
    [
      undefined,
      'export default () => 6; export const replica = () => 5;',
      { type: 'result', value: 6, canGoOn: true, printed: 0 },
    ],
    [
      'other',
      'export default () => 6; export const other = () => 7;',
      { type: 'result', value: 7, canGoOn: true, printed: 0 },
    ],
    [undefined, 'export default 5;', { error: { message: /exports no function called default or replica: export/ } }],
    ['other', 'export default () => 6;', { error: { message: /exports no function called other: export default/ } }],
  ])('calls the function %s of the module %j', async (exportName, code, expected) => {
    const module = `data:text/javascript,${encodeURIComponent(code)}`;
    const { posted, ended } = workerOf('', { exportName, module });
    await ended();
    const [message] = posted as { error?: { message: string }[] }[];
    if ('type' in expected) expect(message).toEqual(expected);
    else expect(message?.error?.[0]?.message).toMatch(expected.error?.message as RegExp);
  });
});

describe('a value that cannot be posted to a thread', () => {
  const uncloneable = () => 1;

  it.each<[string, Partial<ThreadStart & RunMessage>]>([
    ['an argument of a replica', { args: [uncloneable] }],
    ['an option of plug-in "ring"', { setup: { plugin: { name, module, options: { numPacks: uncloneable } } } }],
  ])('is named in the error: %s', (what, more) => {
    expect(() => workerOf('() => 1', more)).toThrow(
      expect.objectContaining({
        ...{ name: 'RuntimeError', code: 'ERR_COLL_NOT_CLONEABLE', cause: expect.any(DOMException) },
        message: expect.stringMatching(`^${what} cannot be sent to another thread`),
      }),
    );
  });
});

import { Worker } from 'node:worker_threads';
import { createThreadGroup } from '@coll/core/plugin';
import { ring } from '@coll/ring';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReplicaListener } from './replica-threads.js';
import { ReplicaWorker } from './replica-worker.js';

const { name, module } = ring;

/** A thread of one replica with this function, and what comes from it. */
function workerOf(replica: string) {
  const heard: unknown[] = [];
  let whenHeard = () => {};
  const listener: ReplicaListener = {
    message: (_, message) => {
      heard.push(message.type);
      whenHeard();
    },
    exit: (_, code) => heard.push(code),
  };
  const start = {
    replica: 0,
    firstReplica: 0,
    devices: ['cpu:0'],
    group: createThreadGroup({ size: 1 }),
    home: { plugin: { name, module, options: undefined } },
    module: `data:text/javascript,${encodeURIComponent(`export default ${replica}`)}`,
    exportName: undefined,
    args: [],
  };
  const worker = new ReplicaWorker(start, listener);
  const message = new Promise<void>((resolve) => {
    whenHeard = resolve;
  });
  return { worker, heard, message };
}

// Only the timers that wait for a thread: the threads themselves go on in their own time.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('end', () => {
  it('waits no longer than the grace for a replica that tells nothing', async () => {
    const { worker, heard, message } = workerOf('(replica) => { replica.report(1); for (;;); }');
    await message;
    const ending = worker.end(200);
    await vi.advanceTimersByTimeAsync(199);
    expect(heard).toEqual(['report']);
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(heard).toEqual(['report', 1]);
  });

  it('waits no longer than the grace for a thread that has more to do', async () => {
    const { worker, heard, message } = workerOf('() => { setInterval(() => {}, 1000); }');
    await message;
    const ending = worker.end(500);
    // It has told its result, which ends the first of two graces before any time has gone by. What it prints gets 2 s, of which it
    // needs as much as its real time takes.
    await vi.advanceTimersByTimeAsync(499);
    expect(heard).toEqual(['result']);
    await vi.advanceTimersByTimeAsync(2001);
    await ending;
    expect(heard).toEqual(['result', 1]);
  });

  it('waits for what a replica prints once it has told its result', async () => {
    // The thread is stuck before the text that it printed last has been handed over.
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

  it('waits as long as a replica goes on to print', async () => {
    const terminate = vi.spyOn(Worker.prototype, 'terminate');
    // Its output is through only after three dots, of which the test lets each take 1.9 s.
    const { worker, heard, message } = workerOf(`(replica) => {
      const write = process.stdout.write.bind(process.stdout);
      const dot = (left) => (left > 0 ? write('.', () => { replica.report('.'); setTimeout(dot, 50, left - 1); }) : through());
      let through;
      process.stdout.write = (_, done) => { through = done; dot(3); };
    }`);
    await message;
    const ending = worker.end(500);
    for (let dots = 1; dots <= 3; dots++) {
      while (heard.length <= dots) await new Promise(setImmediate);
      await vi.advanceTimersByTimeAsync(1900);
    }
    expect(terminate).not.toHaveBeenCalled();
    await ending;
    expect(heard).toEqual(['result', 'report', 'report', 'report', 0]);
  });

  it('leaves a thread alone that ends by itself', async () => {
    const { worker, heard } = workerOf('() => 5');
    await worker.end(500);
    expect(heard).toEqual(['result', 0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

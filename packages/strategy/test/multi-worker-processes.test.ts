import { describe, expect, it } from 'vitest';
import { expectWhole } from './read-items.js';
import { type EndOfWorker, runWorkers } from './worker-processes.js';

/** What workers print, after they ended as they should. */
function printed(ends: readonly EndOfWorker[]): unknown[] {
  expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ends.map(() => [0, '']));
  return ends.map(({ stdout }) => JSON.parse(stdout));
}

const device = (worker: number, place: number) => `/job:worker/replica:0/task:${worker}/device:CPU:${place}`;

describe.concurrent('workers in separate processes', () => {
  it('have the same variables, initialised by the chief', async () => {
    const outputs = printed(await runWorkers('worker.js', 2, ['variables']));
    const ofReplica = [[2.5, 3], [0, 1, 7], [5]];
    const inReplicas = [ofReplica, ofReplica];
    const same = { initial: [1, 2], inReplicas, together: [[10], [1.5], [3]] };
    expect(outputs).toMatchObject([
      { ...same, names: ['weights', 'weights/replica_1'], restored: [2, 2, 7] },
      { ...same, names: ['weights/replica_2', 'weights/replica_3'], restored: [2, 1, 7] },
    ]);
    expect(outputs).toMatchObject([0, 1].map((worker) => ({ links: [[1 - worker, expect.any(String)]] })));
  });

  it.each([
    [1, [11, 11, 10.5, 12, 12, 11]],
    [2, [11, 12.25, 11.5, 14, 19, 16]],
  ])('combine the plain numbers that their %i replicas each add to a variable', async (replicas, sums) => {
    expect(printed(await runWorkers('worker.js', 2, ['numbers', String(replicas)]))).toEqual([sums, sums]);
  });

  it('may make synchronous calls if each worker has one replica', async () => {
    const outputs = printed(await runWorkers('worker.js', 2, ['blocking']));
    const combined = { dense: [1, 2], rows: [1, 2], into: [0.5, 1], ofLast: [1, 7], gathered: [1] };
    const each = { canBlock: true, ...combined, after: [2] };
    expect(outputs).toMatchObject([each, each].map((one) => ({ ...one, busy: { code: 'ERR_COLL_BUSY' } })));
  });

  it.each([1, 2])('run %i replicas in threads each', async (replicas) => {
    const outputs = printed(await runWorkers('worker.js', 2, ['threads', String(replicas)]));
    const size = 2 * replicas;
    const ids = Array.from({ length: size }, (_, id) => id);
    const total = ids.reduce((sum, id) => sum + id, 0);
    const result = (worker: number, scale: number) => {
      const own = ids.slice(worker * replicas, (worker + 1) * replicas);
      return {
        reports: own.map((id) => [id, id]),
        replicas: own.map((id, place) => ({
          who: [id, size, id, device(worker, place)],
          initial: [scale],
          updated: [scale + total / size],
          sum: [total, size * scale],
          blocking: [total / size, scale],
          gathered: ids.flatMap((other) => new Array(other + 1).fill(other)),
          gatheredBlocking: ids.flatMap((other) => new Array(other + 1).fill(other)),
          ofLast: [size - 1, scale],
          merged: [own.map((other) => [other]), [total]],
        })),
      };
    };
    expect(outputs).toEqual([0, 1].map((worker) => [result(worker, 1), result(worker, 10)]));
  });

  it('end each epoch of files of unequal lengths together', async () => {
    const outputs = printed(await runWorkers('worker.js', 2, ['unequal'])) as string[][];
    for (const place of [0, 1])
      expectWhole(
        outputs.map((results) => JSON.parse(results[place] as string)),
        [2, 10, 3],
      );
  });

  it.each(['function', 'module'])('get the exception that ends the first one after a run of a %s', async (how) => {
    const [first, second] = await runWorkers('full-disk.js', 2, [how]);
    expect(first).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Error: ENOSPC: no space left on device$/m),
    });
    expect(second?.stderr).toMatch(/UnavailableError: .*exit code 1: ENOSPC: no space left on device/);
  });

  it('all throw if only one of them requests a step of a dataset', async () => {
    for (const error of printed(await runWorkers('worker.js', 2, ['differentSteps'])))
      expect(error).toMatchObject({
        code: 'ERR_COLL_MISMATCH',
        message: expect.stringMatching(/next step of a dataset/),
      });
  });

  it.each(['throws', 'throwsInThread'])(
    'all fail with the same message if a replica of one worker %s',
    async (scenario) => {
      const [first, last] = printed(await runWorkers('worker.js', 2, [scenario]));
      const message = 'replica 3: rank 1 and replica 0 are out of memory';
      expect(last).toMatchObject({ name: 'RangeError', message, rank: 3 });
      const text = new RegExp(`rank 2, 3 \\(worker 1\\) on .* failed: .*${message}$`);
      expect(first).toMatchObject({ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 2 });
      expect(first).toMatchObject({ message: expect.stringMatching(text) });
    },
  );

  it('each throw an error that names its own replicas if shapes differ within every worker', async () => {
    const [first, last] = printed(await runWorkers('worker.js', 2, ['shapes']));
    const code = 'ERR_COLL_SHAPE_MISMATCH';
    expect(first).toMatchObject({
      code,
      rank: 1,
      message: expect.stringMatching(/replica 0 \(worker 0\) has shape .*replica 1 /),
    });
    expect(last).toMatchObject({
      code,
      rank: 3,
      message: expect.stringMatching(/replica 2 \(worker 1\) has shape .*replica 3 /),
    });
  });

  it('report which worker creates a different variable', async () => {
    const message = /^variable "weights": Shape mismatch in the collective: ranks disagree: .* [12] float64 elements/;
    for (const error of printed(await runWorkers('worker.js', 2, ['differs'])))
      expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH', message: expect.stringMatching(message) });
  });

  it('report which worker has refused to create a variable', async () => {
    const message = /^variable "Variable": value of a variable.*rank 1 .*caught ERR_COLL_VALUE in a call/;
    for (const error of printed(await runWorkers('worker.js', 2, ['refuses'])))
      expect(error).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', message: expect.stringMatching(message) });
  });

  it('detect at once that one of them has exited', async () => {
    const [first, last] = (await runWorkers('worker.js', 2, ['exits'])) as [EndOfWorker, EndOfWorker];
    expect(last.code).toBe(7);
    expect(printed([first])).toMatchObject([
      { name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 1, message: expect.stringMatching(/rank 1/) },
    ]);
  });

  it.each([
    [0, /worker 0 of 2 waited 1 seconds for the others to start: .*rank 1/],
    [1, /worker 1 of 2 waited 1 seconds for the others to start: .*worker 0 at 127\.0\.0\.1:\d+/],
  ])('time out if only worker %i starts, and name the missing worker', async (worker, message) => {
    const [alone] = printed(await runWorkers('worker.js', 2, ['lonely'], [worker]));
    expect(alone).toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_DEADLINE' });
    expect(alone).toMatchObject({ message: expect.stringMatching(message) });
  });

  it('continue with a strategy of the next generation after a failure', async () => {
    expect(printed(await runWorkers('worker.js', 2, ['again']))).toEqual([
      ['object', [2]],
      ['object', [2]],
    ]);
  });

  it('exit by themselves, even if they close nothing', async () => {
    expect(printed(await runWorkers('worker.js', 2, ['leaves']))).toEqual([[0.5], [0.5]]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JobProcesses } from '../../rendezvous/test/job-processes.ts';
import { type FailingScenarioName, failingScenarios, type Told } from './failing-scenarios.ts';
import type { WorkerAnswer, WorkerTask } from './fixtures/worker-process.ts';
import { blockingScenarios, scenarios } from './worker-scenarios.ts';

const expected: Readonly<Record<FailingScenarioName, readonly [code: string, words: RegExp]>> = {
  'values of different lengths': ['ERR_COLL_SHAPE_MISMATCH', /all-reduce sum of 4 float32 .* but all-reduce sum of 5 /],
  'values of different shapes': ['ERR_COLL_SHAPE_MISMATCH', /passes values of other shapes/],
  'different calls': [
    'ERR_COLL_MISMATCH',
    /all-reduce sum of 4 float32 elements .*, but all-gather of 1 float32 value/,
  ],
  'different ops': ['ERR_COLL_MISMATCH', /all-reduce sum of 4 float32 .* but all-reduce max of 4 float32 /],
  'values of different dtypes': ['ERR_COLL_DTYPE_MISMATCH', /all-reduce mean of 65536 float32 .* 65536 float64 /],
  'gathers of different dtypes': ['ERR_COLL_DTYPE_MISMATCH', /all-gather of 1 float32 value .* of 1 int32 value /],
  'gathers along other shapes': ['ERR_COLL_SHAPE_MISMATCH', /all-gather along axis 0: replica 0.*\[/],
  'sparse values on some workers only': [
    'ERR_COLL_MISMATCH',
    /all-reduce sum of 4 .*, but all-reduce of 1 sparse value/,
  ],
  'different ops for sparse values': ['ERR_COLL_MISMATCH', /calls sum, .* calls mean/],
  'different implementations': ['ERR_COLL_MISMATCH', /a measurement of the links.* all-reduce sum of 4 /],
  'a worker whose call is aborted': ['ERR_COLL_ABORTED', /aborted/],
  'a worker that never comes': ['ERR_COLL_DEADLINE', /^all-reduce sum .*rank (1|2, 3 \(worker 1\)) did not arrive/],
  'a worker that never comes while links are measured': [
    'ERR_COLL_DEADLINE',
    /^measure the links for all-reduce sum .*rank (1|2, 3 \(worker 1\)) did not arrive/,
  ],
};

describe.each([
  [3, 'shared-memory'],
  [2, 'tcp'],
] as const)('CollectiveAllReduce with %i processes over %s', (size, transport) => {
  let workers: JobProcesses;

  beforeAll(async () => {
    workers = await JobProcesses.start(new URL('./fixtures/worker-process.ts', import.meta.url), size);
  });
  afterAll(() => workers[Symbol.asyncDispose]());

  async function play(task: Pick<WorkerTask, 'scenario' | 'count'>): Promise<readonly unknown[]> {
    const answers = await workers.play<WorkerAnswer>(() => ({ ...task, transport }));
    expect(answers.filter(({ error, endedBy }) => error ?? endedBy)).toEqual([]);
    return answers.map(({ value }) => value);
  }

  it.each(Object.keys({ ...blockingScenarios, ...scenarios }))('%s', async (scenario) => {
    await play({ scenario });
  });

  it.each(Object.keys(failingScenarios))('reports %s to all workers with the same message', async (scenario) => {
    for (const count of [1, 2]) {
      const told = (await play({ scenario, count })) as (readonly Told[])[];
      const [code, words] = expected[scenario as FailingScenarioName];
      expect([...new Set(told.flat().map((each) => each.code))], JSON.stringify(told)).toEqual([code]);
      const [{ message, rank }] = told[0] as readonly [Told];
      expect(message).toMatch(words);
      if (!code.endsWith('MISMATCH')) continue;
      expect(new Set(told.map(([first]) => JSON.stringify(first))).size, JSON.stringify(told)).toBe(1);
      // Messages and `rank` count the ranks of those who call: the devices of all workers.
      expect(rank).toBe(count);
      expect(message).toMatch(count === 1 ? /(rank|replica) 1\b/ : /(rank|replica) 2, 3 \(worker 1\)/);
    }
  });
});

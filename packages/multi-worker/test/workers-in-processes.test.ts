import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JobProcesses } from '../../rendezvous/test/job-processes.ts';
import { expectedFailures, failingScenarios, type Outcome } from './failing-scenarios.ts';
import type { ScenarioTask, WorkerAnswer } from './fixtures/worker-process.ts';
import { blockingScenarios, scenarios } from './worker-scenarios.ts';

describe.each([
  [3, 'shared-memory'],
  [2, 'tcp'],
] as const)('CollectiveAllReduce with %i processes over %s', (size, transport) => {
  let workers: JobProcesses;

  beforeAll(async () => {
    workers = await JobProcesses.start(new URL('./fixtures/worker-process.ts', import.meta.url), size);
  });
  afterAll(() => workers[Symbol.asyncDispose]());

  /** Runs the task after all workers have opened the group: a failure would otherwise end the opening of the others. */
  async function run(task: ScenarioTask): Promise<readonly unknown[]> {
    await answersTo({ transport });
    return await answersTo(task);
  }

  async function answersTo(task: object): Promise<readonly unknown[]> {
    const answers = await workers.run<WorkerAnswer>(() => task);
    expect(answers.filter(({ error, endedBy }) => error ?? endedBy)).toEqual([]);
    return answers.map(({ value }) => value);
  }

  it.each(Object.keys({ ...blockingScenarios, ...scenarios }))('%s', async (scenario) => {
    await run({ scenario });
  });

  it.each(Object.keys(failingScenarios))('reports %s to all workers with the same message', async (scenario) => {
    for (const count of [1, 2]) {
      const outcomes = (await run({ scenario, count })) as (readonly Outcome[])[];
      const [code, words] = expectedFailures[scenario as keyof typeof expectedFailures];
      expect([...new Set(outcomes.flat().map((each) => each.code))], JSON.stringify(outcomes)).toEqual([code]);
      const [{ message, rank }] = outcomes[0] as readonly [Outcome];
      expect(message).toMatch(words);
      if (!code.endsWith('MISMATCH')) continue;
      expect(new Set(outcomes.map(([first]) => JSON.stringify(first))).size, JSON.stringify(outcomes)).toBe(1);
      // Messages and `rank` count the ranks of those who call: the devices of all workers.
      expect(rank).toBe(count);
      expect(message).toMatch(count === 1 ? /(rank|replica) 1\b/ : /(rank|replica) 2, 3 \(worker 1\)/);
    }
  });
});

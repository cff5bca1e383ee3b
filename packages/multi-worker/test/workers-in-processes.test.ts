import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failingScenarios, type Told } from './failing-scenarios.ts';
import { WorkerProcesses } from './worker-processes.ts';
import { blockingScenarios, scenarios } from './worker-scenarios.ts';

describe.each([
  [3, 'shared-memory'],
  [2, 'tcp'],
] as const)('CollectiveAllReduce among %i processes over %s', (size, transport) => {
  let workers: WorkerProcesses;

  beforeAll(async () => {
    workers = await WorkerProcesses.start(size);
  }, 30_000);
  afterAll(() => workers[Symbol.asyncDispose]());

  it.each(Object.keys({ ...blockingScenarios, ...scenarios }))('%s', { timeout: 60_000 }, async (scenario) => {
    const answers = await workers.play({ scenario, transport });
    expect(answers.map(({ error }) => error)).toEqual(answers.map(() => undefined));
  });

  it.each(Object.keys(failingScenarios))('tells all workers alike of %s', { timeout: 60_000 }, async (scenario) => {
    for (const count of [1, 2]) {
      const answers = await workers.play({ scenario, count, transport });
      expect(answers.map(({ error }) => error)).toEqual(answers.map(() => undefined));
      const codes = answers.map(({ value }) => (value as readonly Told[]).map(({ code }) => code));
      expect(new Set(codes.flat()).size, JSON.stringify(answers)).toBe(1);
      expect(codes[0]?.[0]).toMatch(scenario.includes('never') ? 'ERR_COLL_DEADLINE' : /MISMATCH/);
    }
  });
});

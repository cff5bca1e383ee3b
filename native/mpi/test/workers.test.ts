import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { expectedFailures, type Outcome } from '../../../packages/multi-worker/test/failing-scenarios.ts';
import { blockingScenarios, scenarios } from '../../../packages/multi-worker/test/worker-scenarios.ts';
import { mpiruns } from './launchers.ts';
import { resultsOf } from './results.ts';

const program = fileURLToPath(new URL('./fixtures/workers.ts', import.meta.url));

// MPI chooses its algorithms itself, so that workers measure no links, and AUTO and RING are the same.
const notHere: ReadonlySet<string> = new Set([
  'chooses alike on all workers, and tells',
  'different implementations',
  'a worker that never comes while links are measured',
]);
const isHere = (name: string) => !notHere.has(name);

describe.each(mpiruns.map((launcher) => [launcher.name, launcher] as const))(
  'CollectiveAllReduce and MultiWorkerAllReduce with several devices per rank under %s',
  (_, launcher) => {
    const test = it.skipIf(launcher.missing !== undefined);
    let job: Promise<readonly unknown[]> | undefined;

    test.each(Object.keys({ ...scenarios, ...blockingScenarios }).filter(isHere))('%s', async (scenario) => {
      job ??= resultsOf(launcher, 3, [program]);
      const errors = (await job) as readonly Readonly<Record<string, unknown>>[];
      expect(errors.map((ofRank) => ofRank[scenario])).toEqual([undefined, undefined, undefined]);
      expect(errors[0]).toHaveProperty([scenario]);
    });

    test.each(Object.keys(expectedFailures).filter(isHere))('reports %s to all workers', async (scenario) => {
      const outcomes = (await resultsOf(launcher, 2, [program, scenario])) as [Outcome, ...Outcome[]][];
      const [code, words] = expectedFailures[scenario as keyof typeof expectedFailures];
      expect([...new Set(outcomes.flat().map((each) => each.code))], JSON.stringify(outcomes)).toEqual([code]);
      for (const [{ message, rank }] of outcomes) {
        expect(message).toMatch(words);
        if (!code.endsWith('MISMATCH')) continue;
        expect(rank).toBe(2);
        expect(message).toMatch(/(rank|replica) 2, 3 \(worker 1\)/);
      }
    });
  },
);

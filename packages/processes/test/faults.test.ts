import { expect, it } from 'vitest';
import { injectFaults } from './faults/inject-faults.ts';
import { describeScenario, faults } from './faults/scenario.ts';

const seeds = Array.from({ length: 2 * faults.length }, (_, seed) => seed);

it('random faults end every call with the right error, in time, and leave nothing behind', async () => {
  // Longer than a busy machine leaves a member alone.
  const heartbeatSeconds = 4;
  for await (const { scenario, problems } of injectFaults(seeds, { heartbeatSeconds }))
    expect.soft(problems, describeScenario(scenario)).toEqual([]);
});

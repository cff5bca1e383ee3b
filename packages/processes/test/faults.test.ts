import { afterAll, describe, expect, it } from 'vitest';
import { injectFaults } from './faults/inject-faults.ts';
import { describeScenario, faults, scenarioOf } from './faults/scenario.ts';

const scenarios = Array.from({ length: 2 * faults.length }, (_, seed) => scenarioOf(seed));

describe('a random fault ends every call with the right error, in time, and leaves nothing behind', () => {
  let seed = 0;
  function* seeds(): Generator<number> {
    for (;;) yield seed;
  }
  // Longer than a busy machine leaves a member alone.
  const findings = injectFaults(seeds(), { heartbeatSeconds: 4 });
  afterAll(async () => {
    await findings.return(undefined);
  });

  it.each(scenarios.map((scenario) => [describeScenario(scenario), scenario] as const))('%s', async (_, scenario) => {
    ({ seed } = scenario);
    const { value } = await findings.next();
    expect(value?.problems).toEqual([]);
  });
});

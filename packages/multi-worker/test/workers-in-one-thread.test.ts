import { describe, expect, it } from 'vitest';
import { processGroupDoubles } from './doubles/process-group-double.ts';
import { scenarios } from './worker-scenarios.ts';

describe.each([2, 3, 4])('CollectiveAllReduce with %i simulated processes', (size) => {
  it.each(Object.entries(scenarios))('%s', async (_, scenario) => {
    const groups = processGroupDoubles(size);
    const outcomes = await Promise.allSettled(groups.map((group) => scenario(group)));
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(failed.map(({ reason }) => reason)).toEqual([]);
  });
});

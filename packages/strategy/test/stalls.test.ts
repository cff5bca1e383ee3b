import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { stalledRun } from '../../cli/test/stalled-run.ts';

const sentence =
  /^coll run: stalled: rank 0 in all-reduce sum \(collective \d+\) for \d+ seconds, rank 1 has not arrived([,;] .*)?$/m;
const fixture = fileURLToPath(new URL('./fixtures/late-worker.ts', import.meta.url));

it.each(['allReduce', 'allReduceSync'])('coll run reports which worker waits in %s', async (how) => {
  const { stderr, lines } = await stalledRun(fixture, how, 2, sentence);
  expect(stderr).toMatch(sentence);
  expect(lines).toEqual(['[0] sum 2', '[1] sum 2']);
});

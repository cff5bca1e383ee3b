import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { stalledRun } from '../../cli/test/stalled-run.ts';

const sentence =
  /^coll run: stalled: ranks 0, 1 in all-reduce sum \(collective 0\) for \d+ seconds, rank 2 has not arrived([,;] .*)?$/m;
const fixture = fileURLToPath(new URL('./fixtures/late-rank.ts', import.meta.url));

it.each(['run', 'runSync'])('coll run reports which rank waits for which in %s', async (how) => {
  const { stderr, lines } = await stalledRun(fixture, how, 3, sentence);
  expect(stderr).toMatch(sentence);
  expect(lines).toEqual(['[0] sum 3', '[1] sum 3', '[2] sum 3']);
});

import { direct, directAlgorithm } from '@coll/direct';
import { executorSuite, processRanks } from '@coll/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';

const join = { module: new URL('./doubles/join-in-one-hand.ts', import.meta.url).href, export: 'join' };
const algorithms = [{ algorithm: directAlgorithm(), source: { module: direct.module, export: 'direct' } }];

const processes = processRanks({ join, membersOf: () => 1 });
const threads = processRanks({ join, membersOf: () => 1, threadsPerProcess: 1 });
afterAll(() => Promise.all([processes.close(), threads.close()]));

// The executor is known to be right: what is tested is the way to another process and back.
executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'in a process',
    membersOf: () => 1,
    open: processes.open,
    algorithms,
    ranks: [1, 3],
  }),
);
executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'in a thread of a process',
    membersOf: () => 1,
    open: threads.open,
    algorithms,
    ranks: [2],
  }),
);

it('a failed rank process reports its error, and another process is started afterwards', async () => {
  const odd = processRanks({ join });
  await expect(odd.open(algorithms[0], 2)).rejects.toThrow('a hand is one member');
  const group = await odd.open(algorithms[0], 1);
  await group.members[0]?.crash?.();
  await expect(group.members[0]?.execute([])).rejects.toThrow(/the process has ended/);
  await (await odd.open(algorithms[0], 1)).close();
  await odd.close();
});

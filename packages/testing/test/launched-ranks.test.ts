import { spawn } from 'node:child_process';
import { direct, directAlgorithm } from '@coll/direct';
import { executorSuite, launchedRanks } from '@coll/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';

const join = { module: new URL('./doubles/join-in-one-hand.ts', import.meta.url).href, export: 'join' };

let launches = 0;
/** A double of a launcher, whose process is the only rank. */
const launch = (size: number, [program, ...args]: readonly string[]) => {
  launches++;
  expect(size).toBe(1);
  return spawn(program as string, args, { stdio: ['ignore', 'inherit', 'inherit'] });
};

const processes = launchedRanks({ join, launch });
afterAll(() => processes.close());

// The executor is known to be right: what is tested is the way to another process and back.
executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'in a launched process',
    membersOf: () => 1,
    open: processes.open,
    algorithms: [{ algorithm: directAlgorithm(), source: { module: direct.module, export: 'direct' } }],
    ranks: [1],
  }),
);

describe('processes of a launcher', () => {
  it('serve all groups, until one of them ends', async () => {
    const before = launches;
    const ranks = launchedRanks({ join, launch });
    const first = await ranks.open(undefined, 1);
    await first.close();
    const second = await ranks.open(undefined, 1);
    expect(launches).toBe(before + 1);
    await second.members[0]?.crash?.();
    await expect(second.members[0]?.execute([])).rejects.toThrow('the process has ended');
    await (await ranks.open(undefined, 1)).close();
    expect(launches).toBe(before + 2);
    await ranks.close();
  });

  it('exit by themselves at the end; otherwise closing fails', async () => {
    const good = launchedRanks({ join, launch });
    await good.open(undefined, 1);
    await good.close();
    const bad = launchedRanks({
      join,
      launch: (_, [program, ...args]) => spawn('sh', ['-c', '"$0" "$@"; exit 3', program as string, ...args]),
    });
    await bad.open(undefined, 1);
    await expect(bad.close()).rejects.toThrow('the launcher has ended with 3');
  });

  it('that do not connect fail the opening with the exit code of the launcher', async () => {
    const ranks = launchedRanks({ join, launch: () => spawn(process.execPath, ['-e', 'process.exit(7)']) });
    await expect(ranks.open(undefined, 1)).rejects.toThrow('the launcher has ended with 7');
    await ranks.close();
  });
});

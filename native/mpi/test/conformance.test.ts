import { executorSuite, launchedRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { acrossHosts, type Launcher, launch, mpiruns, sruns, standardAbi, useHosts, useSlurm } from './launchers.ts';

const join = { module: new URL('./fixtures/join-mpi.ts', import.meta.url).href, export: 'join' };

/** All cases of the executor suite on MpiCommunicator, whose ranks a launcher starts. */
function suiteUnder(launcher: Launcher, sizes: readonly number[]): void {
  const ranks = launchedRanks({
    join,
    launch: (size, program) => {
      const child = launch(launcher, size, program);
      child.stdout?.pipe(process.stdout);
      child.stderr?.pipe(process.stderr);
      return child;
    },
  });
  afterAll(() => ranks.close());
  executorSuite({
    test: it.skipIf(launcher.missing !== undefined),
    name: `MpiCommunicator under ${launcher.name}`,
    open: ranks.open,
    ranks: sizes,
    membersOf: (size) => size,
    // A launcher ends all ranks when one is killed.
    lacks: ['crash', 'reserve'],
  });
}

describe.each(mpiruns.map((launcher) => [launcher.name, launcher] as const))('under %s', (_, launcher) => {
  suiteUnder(launcher, [1, 2, 4, 8]);
});

describe('in Slurm', () => {
  useSlurm();
  describe.each(sruns.map((launcher) => [launcher.name, launcher] as const))('under %s', (_, launcher) => {
    suiteUnder(launcher, [2]);
  });
});

describe.each([2, 4])('across %i hosts', (hosts) => {
  useHosts(hosts);
  describe.each(acrossHosts(hosts).map((launcher) => [launcher.name, launcher] as const))('under %s', (_, launcher) => {
    suiteUnder(launcher, [hosts]);
  });
});

describe('with the binary interface of MPI 5.0, which no library here has', () => {
  suiteUnder(standardAbi, [1, 2, 3]);
});

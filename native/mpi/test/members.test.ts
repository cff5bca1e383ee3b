import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { memberSuite } from '@coll/testing';
import { describe, expect, it } from 'vitest';
import { acrossHosts, type Launcher, mpiruns, useHosts } from './launchers.ts';
import { resultsOf } from './results.ts';

const program = fileURLToPath(new URL('./fixtures/scenario.ts', import.meta.url));

describe.each(mpiruns.map((launcher) => [launcher.name, launcher] as const))('under %s', (_, launcher) => {
  const test = it.skipIf(launcher.missing !== undefined);

  memberSuite({
    test,
    name: `ranks under ${launcher.name}`,
    sizes: [1, 3],
    run: (scenario, size) => resultsOf(launcher, size, [program, scenario]),
  });

  test('the plug-in makes ops over all ranks of the job', async () => {
    expect(await resultsOf(launcher, 2, [program, 'plug-in'])).toEqual([
      Float32Array.of(0.5, 1),
      Float32Array.of(0.5, 1),
    ]);
  });

  test('a group names the host of each rank', async () => {
    const hosts = [hostname(), hostname()];
    expect(await resultsOf(launcher, 2, [program, 'hosts'])).toEqual([hosts, hosts]);
  });

  test('sums of half types are rounded at each step, or once if they are sent as float32', async () => {
    const each = {
      stored: { float16: [4.9140625], bfloat16: [6.125] },
      float32: { float16: [4.91796875], bfloat16: [6.15625] },
    };
    expect(await resultsOf(launcher, 3, [program, 'halves'])).toEqual([each, each, each]);
  });
});

describe('across 2 hosts', () => {
  useHosts(2);
  // Not under MPICH 4.0, whose MPI_Finalize may never return over TCP.
  const [launcher] = acrossHosts(2) as [Launcher, ...Launcher[]];
  it.skipIf(launcher.missing !== undefined)(`a group names the host of each rank, under ${launcher.name}`, async () => {
    const hosts = ['h0', 'h0', 'h1', 'h1'];
    expect(await resultsOf(launcher, 4, [program, 'hosts'])).toEqual([hosts, hosts, hosts, hosts]);
  });
});

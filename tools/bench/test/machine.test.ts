import { availableParallelism } from 'node:os';
import { afterEach, expect, it, vi } from 'vitest';
import { thisMachine } from '../src/report/machine.ts';

afterEach(() => vi.unstubAllEnvs());

it('rows state the cores of the machine, and those that were emulated', () => {
  vi.stubEnv('COLL_CORES', '');
  expect(thisMachine()).toMatchObject({ cpus: availableParallelism(), cpu: expect.any(String) });
  expect(thisMachine()).not.toHaveProperty('emulatedCores');
  vi.stubEnv('COLL_CORES', '128');
  expect(thisMachine()).toMatchObject({ cpus: availableParallelism(), emulatedCores: 128 });
});

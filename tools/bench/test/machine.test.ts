import { availableParallelism } from 'node:os';
import { afterEach, expect, it, vi } from 'vitest';
import { designOf, thisMachine } from '../src/report/machine.ts';

afterEach(() => vi.unstubAllEnvs());

it('rows state the cores of the machine, and those that were emulated', () => {
  vi.stubEnv('COLL_CORES', '');
  expect(thisMachine()).toMatchObject({ cpus: availableParallelism(), cpu: expect.any(String) });
  expect(thisMachine()).not.toHaveProperty('emulatedCores');
  vi.stubEnv('COLL_CORES', '128');
  expect(thisMachine()).toMatchObject({ cpus: availableParallelism(), emulatedCores: 128 });
});

it('the design of a CPU is its family and model by number', () => {
  const text =
    'processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: A Processor\n\nprocessor\t: 1\nmodel\t\t: 3\n';
  expect(designOf(text)).toEqual({ cpuDesign: 'family 26, model 2' });
  expect(designOf('CPU implementer\t: 0x41\n')).toEqual({});
});

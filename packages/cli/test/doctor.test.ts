import { findMachine } from '@coll/native/machine';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Launcher, Running } from './launcher.js';

const launcher = new Launcher();
beforeAll(() => launcher.build());
afterAll(() => launcher.remove());

function doctor(args: readonly string[], env: Record<string, string> = {}) {
  return new Running(launcher.command('doctor', ...args), { env: { ...process.env, ...env } }).outcome;
}

it('prints what coll finds on this machine, without a group', async () => {
  const { code, stdout, stderr } = await doctor([]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const names = [
    'system',
    'processor',
    'cores',
    'NUMA',
    'caches',
    'helpers',
    'native engine',
    'thresholds',
    'shared memory',
    'memory access',
  ];
  for (const name of [...names, 'huge pages', 'open files']) expect(stdout).toMatch(new RegExp(`^${name} +\\S`, 'm'));
});

it('prints JSON', async () => {
  const { code, stdout } = await doctor(['--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    node: process.versions.node,
    machine: { ...JSON.parse(JSON.stringify(findMachine())), coreList: expect.any(String) },
  });
});

it('prints the number of cores of COLL_CORES, and refuses one that is not a number', async () => {
  expect((await doctor([], { COLL_CORES: '7' })).stdout).toMatch(/^cores +7 cores by COLL_CORES/m);
  const { code, stderr } = await doctor([], { COLL_CORES: 'seven' });
  expect(code).toBe(2);
  expect(stderr).toBe('coll doctor: ERR_COLL_VALUE: COLL_CORES must be a whole number from 1 to 8192, got "seven"\n');
});

import { expect, it } from 'vitest';
import { machineLines, systemLine } from './machine.js';

it.each(['20.19.0', '22.12.0', '24.0.0', '25.1.0'])('Node %s is supported', (node) => {
  expect(systemLine({ node, platform: 'linux x64' })).toEqual({
    name: 'system',
    verdict: 'ok',
    text: `Node ${node}, linux x64`,
    data: { node, platform: 'linux x64' },
  });
});

it.each(['18.20.0', '20.18.3', '21.7.0', '22.11.0'])('Node %s is broken, with the versions to install', (node) => {
  expect(systemLine({ node, platform: 'linux x64' })).toMatchObject({
    verdict: 'broken',
    cure: 'install Node 20.19, 22.12 or newer: https://nodejs.org',
  });
});

it('another runtime is named', () => {
  const line = systemLine({ node: '18.0.0', runtime: 'Bun 1.4.5', platform: 'linux x64' });
  expect(line).toMatchObject({ verdict: 'ok', text: 'Bun 1.4.5, linux x64' });
});

const machine = {
  cores: 2,
  coreList: '0-63',
  quota: 2,
  limit: 'quota',
  helperThreads: 1,
  nodes: [],
  caches: [],
} as const;

it('machineLines describes cores, nodes, caches and helpers', () => {
  const caches = [{ level: 2, bytes: 2 ** 20, coreList: '0' }];
  const nodes = [{ node: 0, coreList: '0-63' }];
  const lines = machineLines({ ...machine, caches, nodes });
  expect(lines.map(({ name, text }) => `${name}: ${text}`)).toEqual([
    'cores: 2 cores by the CPU quota, of the cores 0-63, a CPU quota of 2 cores',
    'NUMA: 1 NUMA node',
    'caches: L2 1 MiB per core',
    'helpers: up to 1 thread',
  ]);
  expect(lines.map(({ data }) => data)).toEqual([
    { cores: 2, coreList: '0-63', quota: 2, limit: 'quota' },
    { nodes },
    { caches },
    { helperThreads: 1 },
  ]);
  expect(lines.some(({ verdict }) => verdict)).toBe(false);
});

it('machineLines names what the system does not report', () => {
  const texts = machineLines(machine).map(({ text }) => text);
  expect(texts.slice(1, 3)).toEqual(['not reported by this system', 'not reported by this system']);
});

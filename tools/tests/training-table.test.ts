import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { withTable } from '../run/measure-training.mjs';
import { trainingTable } from '../run/training-table.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const row = { cpu: 'A', cores: 4, date: '2026-01-01', parameters: 1000 };
const runs = (framework: string, batchSize: number, one: number, ...several: readonly number[]) =>
  several.map((samplesPerSecond, index) => {
    return { ...row, framework, batchSize, replicas: [2, 4][index], samplesPerSecond, samplesPerSecondOfOne: one };
  });

it('shows each run, and from which batch on replicas pay', () => {
  const table = trainingTable([
    ...runs('jax-js', 64, 1000, 900, 800),
    ...runs('jax-js', 256, 2000, 2600, 3000),
    ...runs('tfjs', 64, 500, 550, 600),
  ]);
  expect(table).toContain('| jax-js | 64 | 1,000 | 900 | 800 | 0.90 |');
  expect(table).toContain('| jax-js | 256 | 2,000 | 2,600 | 3,000 | 1.50 |');
  expect(table).toContain('In jax-js, several replicas pay (1.25 times one process) from a batch of 256 on.');
  expect(table).toContain('In TensorFlow.js, wasm, several replicas pay for none of these batches.');
});

it('is in the README as it was measured', () => {
  const file = path.join(root, 'docs/figures/training.jsonl');
  expect(existsSync(file)).toBe(true);
  const rows = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
  expect(withTable(readme, trainingTable(rows))).toBe(readme);
});

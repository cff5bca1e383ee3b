import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { browsers } from '../../../packages/strategy/test/browsers.ts';
import { whyNot } from '../../bench/src/engines.js';
import type { Figures } from '../measure.ts';
import { speedTables } from '../table.ts';

const root = path.resolve(import.meta.dirname, '../../..');

it('measures every row in every browser of this machine, and in Node.js', async () => {
  const args = ['--import', 'tsx', 'tools/pages/main.ts', '--quick', '--json'];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const [code, output, errors] = await Promise.all([
    new Promise((resolve) => child.once('close', resolve)),
    text(child.stdout),
    text(child.stderr),
  ]);
  expect(code, errors).toBe(0);
  const figures = JSON.parse(output) as Figures;
  const here = browsers.filter(([, { isHere }]) => isHere).map(([name]) => name);
  const engines = (['wasm', 'native'] as const).filter((engine) => whyNot(engine) === undefined);
  const columns = figures.places.map(({ name }) => name.replace(/ \d[\d.]*/, ''));
  expect(columns).toEqual([...here, ...engines.map((engine) => `Node.js, \`${engine}\``)]);
  expect(figures.places.map(({ hasSameWeights }) => hasSameWeights)).toEqual(columns.map(() => true));
  const rows = speedTables(figures)
    .split('\n')
    .filter((line) => line.startsWith('| '));
  // Two heads with their rules, eight sizes, eight figures of a training, and four bundles.
  expect(rows).toHaveLength(2 * 2 + 8 + 8 + 4);
  expect(rows.filter((row) => /NaN|undefined|Infinity/.test(row))).toEqual([]);
});

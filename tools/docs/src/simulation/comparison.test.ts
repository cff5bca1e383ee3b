import { describe, expect, it } from 'vitest';
import { readRows } from '../json-lines.ts';
import { comparisons, comparisonTable, largestDifference } from './comparison.ts';
import type { SimulatedRow } from './simulated-rows.ts';

const [simulated] = readRows<SimulatedRow>('simulated') as [SimulatedRow];
const times = (factor: number) => simulated.seconds.map((byBuffer) => byBuffer.map((seconds) => seconds * factor));

const all = comparisons();

describe('the simulated times', () => {
  it('match the current schedules, one row for each algorithm and group: npm run simulate -w @coll/docs', () => {
    expect(all.length).toBe(readRows('simulated').length);
    expect(Math.max(...all.map((each) => each.simulated.ranks))).toBe(256);
  });

  it('are within 5 % of the cost model', () => {
    for (const each of all) expect(largestDifference(each), JSON.stringify(each)).toBeLessThan(0.05);
  });
});

it('the comparison finds the largest difference over all networks and buffers', () => {
  expect(largestDifference({ simulated, priced: simulated.seconds })).toBe(0);
  expect(largestDifference({ simulated, priced: times(0.9) })).toBeCloseTo(0.1);
  const odd = [simulated.seconds[0] as number[], times(1.25)[1] as number[]];
  expect(largestDifference({ simulated, priced: odd })).toBeCloseTo(0.25);
  expect(largestDifference({ simulated, priced: [] })).toBeNaN();
});

it('the comparison table contains the differences in percent', () => {
  const dearer = all.map(({ simulated: row, priced }) => ({
    simulated: row,
    priced: priced.map((byBuffer) => byBuffer.map((seconds) => seconds * 1.02)),
  }));
  expect(comparisonTable(dearer)).toMatch(/^\| flat \| ring \| 78 \| 2\.00\d % \|/m);
});

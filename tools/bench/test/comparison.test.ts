import { expect, it } from 'vitest';
import { compare, type Figures, groupOf, isDifferent } from '../src/against/comparison.js';
import { type ComparedRow, comparisonTables } from '../src/against/report.js';
import { caseRowOf } from '../src/report/row.js';
import type { Trial } from '../src/trial.js';

const series = (median: number, mean: number): Figures => ({ samples: [median, median, 9 * median], means: [mean] });

/** A build that takes twice as long; the second series of each build takes `noise` times the first. */
const slower = (noise: number) =>
  compare({
    before: series(10, 20),
    after: series(20, 40),
    'after again': series(20 * noise, 40),
    'before again': series(10 * noise, 20),
  });

it('compare divides the time of one build by the time of the other, by medians and by means', () => {
  const { median, mean } = slower(1);
  expect([median.beforeMicros, median.afterMicros, median.ratio]).toEqual([10, 20, 2].map((it) => expect.closeTo(it)));
  expect([mean.beforeMicros, mean.afterMicros, mean.ratio]).toEqual([20, 40, 2].map((it) => expect.closeTo(it)));
  expect(median.sameBuild).toEqual([expect.closeTo(1), expect.closeTo(1)]);
});

it('compare shows how much the series of one build differ, independent of the builds', () => {
  const [first, second] = slower(1.21).median.sameBuild;
  expect(Math.min(first, 1 / first) * 1.21).toBeCloseTo(1);
  expect(second).toBeCloseTo(1);
});

it('a row differs if its ratio exceeds all ratios between series of the same build in its group', () => {
  const change = (ratio: number, noise: number) =>
    ({ beforeMicros: 1, afterMicros: ratio, ratio, sameBuild: [noise, 1 / noise] }) as const;
  const changes = [change(1.3, 1.02), change(0.7, 1.1), change(1.05, 1)];
  const group = groupOf(changes);
  expect(group).toEqual({
    rows: 3,
    ratio: expect.closeTo((1.3 * 0.7 * 1.05) ** (1 / 3)),
    noise: expect.closeTo((1.02 * 1.1) ** (1 / 3)),
    mostNoise: expect.closeTo(1.1),
  });
  expect(changes.map((it) => isDifferent(it, group))).toEqual([true, true, false]);
});

const machine = { date: '', node: '', cpu: 'a CPU', cpus: 2 };

function rowOf(name: string, outcome: Pick<ComparedRow, never> | ReturnType<typeof compare>): ComparedRow {
  const trial: Trial = {
    suite: 'ops',
    name,
    work: { type: 'reduce', memory: 'known' },
    engine: 'native',
    form: 'controller',
    input: 'still',
    place: 'in',
    ranks: 2,
    counts: [1],
  };
  return { ...caseRowOf(trial, { machine, foreignLoad: undefined }), ...outcome } as ComparedRow;
}

it('the tables have geometric means by suite and size, the rows that differ, and what failed', () => {
  const same = compare({
    before: series(10, 20),
    after: series(10, 20),
    'after again': series(10, 20),
    'before again': series(10, 20),
  });
  const text = comparisonTables(
    [rowOf('reduce', slower(1)), rowOf('reduce of new memory', same), rowOf('broken', { failure: 'before: it hung' })],
    'abc123',
  );
  expect(text).toContain('the time of abc123');
  expect(text).toMatch(/ops +│ +4 B │ +2 │ 1\.414 \(1\.000\) │ 1\.414 \(1\.000\) │ +1, 1/);
  expect(text).toContain('  ops, reduce, native controller, 2 ranks, 4 B: 10.0 µs -> 20.0 µs, 2.00 times (limit 1.00)');
  expect(text).not.toContain('reduce of new memory');
  expect(text).toContain('ops, broken, native controller, 2 ranks, 4 B: before: it hung');
});

import { describe, expect, it } from 'vitest';
import type { RunResult } from './try-outcome.js';
import { tableOf, textOf } from './try-table.js';
import { judged } from './try-verdict.js';

const calm = { exchange: 0.01, waiting: 0.02, slowest: 0, slowestBy: 0.01 };

/** A run in which each replica keeps a core busy, and all share a batch of 64. */
function run(replicas: number, samplesPerSecond: number | undefined, different: Partial<RunResult> = {}): RunResult {
  const stepsPerSecond = (samplesPerSecond ?? 6400) / 64;
  return {
    replicas,
    samplesPerSecond,
    stepsPerSecond,
    steps: 5 * stepsPerSecond,
    shares: calm,
    coresBusy: replicas,
    foreign: 0,
    memoryBytes: 123e6,
    endedEarly: false,
    ...different,
  };
}

const waiting = { ...calm, waiting: 0.4 };

describe('the verdict', () => {
  it.each<[string, readonly RunResult[], number, string]>([
    ['names the fastest run', [run(1, 100), run(2, 190)], 2, '2 replicas are fastest, 1.90 times as fast as 1 replica'],
    [
      'says from when on more do not pay, because there are no more cores',
      [run(1, 100), run(2, 190), run(4, 195)],
      2,
      '4 replicas are fastest, 1.95 times as fast as 1 replica; from 4 replicas on, more do not pay: this machine has 2 cores',
    ],
    [
      'blames the exchange',
      [run(1, 100), run(2, 80, { shares: { ...calm, exchange: 0.5 } })],
      2,
      'more than 1 replica do not pay: exchange takes 50 % of the time; larger batches need less of it',
    ],
    [
      'blames a slow replica',
      [run(1, 100), run(2, 105, { shares: { ...waiting, slowest: 1, slowestBy: 0.3 } })],
      2,
      'more than 1 replica hardly pay: 2 replicas are fastest, 1.05 times as fast as 1 replica; replicas wait 40 % of the time for replica 1, which computes 30 % longer than the average',
    ],
    [
      'blames waits of all replicas',
      [run(1, 100), run(2, 130, { shares: waiting })],
      2,
      '2 replicas are fastest, 1.30 times as fast as 1 replica; the rest is lost: replicas wait 40 % of the time for each other',
    ],
    [
      'blames a framework that uses all cores by itself',
      [run(1, 100, { coresBusy: 3.9 }), run(2, 100, { coresBusy: 3.9 })],
      4,
      'more than 1 replica do not pay: 1 replica already kept 3.9 of 4 cores busy',
    ],
    [
      'blames other programs first',
      [run(1, 100), run(2, 90, { foreign: 0.6, shares: waiting })],
      2,
      'whether more than 1 replica pay is not known: other programs used 60 % of the cores meanwhile',
    ],
    [
      'blames what does not shrink with the batch',
      [run(1, 100, { shares: { ...calm, exchange: 0, waiting: 0 } }), run(2, 97)],
      4,
      'more than 1 replica do not pay: each replica computes 100 % longer for the same work than one of 1 replica, because it has parts that do not shrink with the batch, or shares memory and cores with others; 2.0 of 4 cores were busy',
    ],
    [
      'compares nothing after a single run',
      [run(1, 100)],
      1,
      'only 1 replica ran, so there is nothing to compare; this machine has 1 core',
    ],
  ])('%s', (_, results, cores, verdict) => {
    expect(judged(results, cores).verdict).toBe(verdict);
  });

  it('goes on past a number of replicas that does not pay', () => {
    const { fastest, noGainFrom } = judged([run(1, 100), run(2, 100), run(4, 200), run(8, 190)], 8);
    expect({ fastest, noGainFrom }).toEqual({ fastest: 4, noGainFrom: 8 });
  });

  it('compares steps of all replicas if the samples of any run are not known', () => {
    const { unit, rows, notes } = judged([run(1, 6400), run(2, undefined, { stepsPerSecond: 80 })], 2);
    expect({ unit, speedUps: rows.map(({ speedUp }) => speedUp) }).toEqual({ unit: 'steps', speedUps: [1, 1.6] });
    expect(notes).toEqual([expect.stringMatching(/as if each replica had the same batch in all runs/)]);
  });

  it('notes a batch that grows, load, an early end, and shares that are not known', () => {
    const last = run(2, 200, { stepsPerSecond: 100 / 64, foreign: 0.2, endedEarly: true, shares: undefined });
    expect(judged([run(1, 100), last], 2).notes).toEqual([
      expect.stringMatching(/^samples of a step: 64 with 1 replica, 128 with 2 replicas; the batch grows/),
      'other programs used up to 20 % of the cores, so the figures say little',
      'in the run with 2 replicas, the module returned before the time was over; what it did until then was measured',
      'in the run with 2 replicas, collectives overlap with computations, so their share of the time is not known',
    ]);
  });
});

describe('the table', () => {
  it('has one line for each run, then the verdict', () => {
    const results = [run(1, 3650), run(2, 7012.4, { shares: undefined })];
    expect(textOf(judged(results, 2)).split('\n')).toEqual([
      'replicas   samples/s   samples/step   speed-up   waiting   exchange   cores busy   memory',
      '       1       3,650             64       1.00       2 %        1 %          1.0   123 MB',
      '       2       7,012             64       1.92         –          –          2.0   123 MB',
      '',
      '2 replicas are fastest, 1.92 times as fast as 1 replica',
      'note: in the run with 2 replicas, collectives overlap with computations, so their share of the time is not known',
    ]);
  });

  it('has steps if the samples are not known', () => {
    expect(tableOf(judged([run(1, undefined, { stepsPerSecond: 2.345 })], 2)).split('\n')).toEqual([
      'replicas   steps/s   speed-up   waiting   exchange   cores busy   memory',
      '       1       2.3       1.00       2 %        1 %          1.0   123 MB',
    ]);
  });
});

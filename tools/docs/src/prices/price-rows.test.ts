import { cost } from '@coll/core/schedule';
import { expect, it } from 'vitest';
import { allReduce, casesAmong } from '../catalogue.ts';
import { readRows } from '../json-lines.ts';
import { buffers, networks } from './networks.ts';
import { costOptions, type PriceRow, pricedRanks, priceRows } from './price-rows.ts';

const checkedIn = readRows<PriceRow>('prices');

it('the table of estimated costs contains every algorithm and group size', () => {
  const wanted = [...casesAmong(pricedRanks)].map(({ setting, name, ranks }) => [setting.name, name, ranks]);
  expect(checkedIn.map(({ setting, algorithm, ranks }) => [setting, algorithm, ranks])).toEqual(wanted);
  expect(Math.max(...pricedRanks)).toBe(65_536);
  for (const { seconds } of checkedIn) {
    expect(seconds.map((byBuffer) => byBuffer.length)).toEqual(networks.map(() => buffers.length));
    expect(seconds.flat().every((value) => value > 0)).toBe(true);
  }
});

it('the table of estimated costs matches the current schedules: npm run prices -w @coll/docs', () => {
  const upTo = pricedRanks.filter((ranks) => ranks <= 64);
  expect(checkedIn.filter(({ ranks }) => upTo.includes(ranks))).toEqual([...priceRows(upTo)]);
});

it('the estimated costs of up to 64 ranks are those of all transfers, not only of representatives', () => {
  for (const { setting, name, ranks, algorithm } of casesAmong(pricedRanks.filter((count) => count <= 64))) {
    const schedule = algorithm.plan(allReduce, ranks);
    const seconds = networks.map((network) =>
      buffers.map((bytes) => cost(schedule, costOptions(setting, network, bytes)).seconds),
    );
    const row = checkedIn.find(
      (each) => each.setting === setting.name && each.algorithm === name && each.ranks === ranks,
    );
    expect(row, `${setting.name} ${name} ${ranks}`).toMatchObject({ rounds: schedule.rounds.length, seconds });
  }
});

it('estimates for 65,536 ranks read few of the transfers, and hold one round of them at most', () => {
  for (const { setting, name, ranks, algorithm } of casesAmong([65_536])) {
    const few = algorithm.representatives?.(allReduce, ranks, setting.ranksPerWorker);
    const rounds = few?.representativeRounds ?? (algorithm.stream ?? algorithm.plan)(allReduce, ranks).rounds;
    let [total, longest] = [0, 0];
    for (const round of rounds) {
      let count = 0;
      for (const _ of round) count++;
      total += count;
      longest = Math.max(longest, count);
    }
    // A full ring schedule would have 8.6 billion transfers, and a direct schedule as many in two rounds.
    expect(total, `${setting.name} ${name}`).toBeLessThan(4e6);
    expect(longest, `${setting.name} ${name}`).toBeLessThan(1.1e6);
  }
});

it('the estimated costs of the largest rings equal the textbook formula', () => {
  const ranks = 65_536;
  const ring = checkedIn.find((row) => row.setting === 'flat' && row.algorithm === 'ring' && row.ranks === ranks);
  expect(ring?.rounds).toBe(2 * (ranks - 1));
  for (const [network, { times }] of networks.entries()) {
    for (const [buffer, bytes] of buffers.entries()) {
      const { alpha, beta, overhead = 0 } = times;
      const chunk = Math.ceil(bytes / ranks);
      const textbook = (ranks - 1) * (2 * (alpha + overhead + chunk * beta) + chunk * 1e-10);
      expect(ring?.seconds[network]?.[buffer]).toBeCloseTo(textbook, 9);
    }
  }
});

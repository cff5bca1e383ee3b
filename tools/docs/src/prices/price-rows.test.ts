import { expect, it } from 'vitest';
import { casesAmong } from '../catalogue.ts';
import { readRows } from '../json-lines.ts';
import { buffers, networks } from './networks.ts';
import { type PriceRow, pricedRanks, priceRows } from './price-rows.ts';

const checkedIn = readRows<PriceRow>('prices');

it('the table of estimated costs contains every algorithm and group size', () => {
  const wanted = [...casesAmong(pricedRanks)].map(({ setting, name, ranks }) => [setting.name, name, ranks]);
  expect(checkedIn.map(({ setting, algorithm, ranks }) => [setting, algorithm, ranks])).toEqual(wanted);
  expect(Math.max(...pricedRanks)).toBe(4096);
  for (const { seconds } of checkedIn) {
    expect(seconds.map((byBuffer) => byBuffer.length)).toEqual(networks.map(() => buffers.length));
    expect(seconds.flat().every((value) => value > 0)).toBe(true);
  }
});

it('the table of estimated costs matches the current schedules: npm run prices -w @coll/docs', () => {
  const upTo = pricedRanks.filter((ranks) => ranks <= 64);
  expect(checkedIn.filter(({ ranks }) => upTo.includes(ranks))).toEqual([...priceRows(upTo)]);
});

it('the estimated costs of the largest rings equal the textbook formula', () => {
  const ranks = 4096;
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

import { expect, it } from 'vitest';
import { type Plan, planOf } from './plan.ts';
import { fields, priceOf, pricesOf } from './price.ts';
import { initial, type State } from './state.ts';

const priceWith = (part: Partial<State>) => {
  const state = { ...initial, ...part };
  return priceOf(planOf(state) as Plan, state);
};

// Two ranks swap halves of 1 KiB twice, with 10 µs per message and 512 ns per half at 8 Gbit/s, and combine 512 bytes in 512 ns.
const simple = { ranks: 2, size: 1, latency: 10, bandwidth: 8, overhead: 0, combining: 1 };

it('a price is the cost of the schedule on the described network', () => {
  expect(priceWith(simple)).toEqual({
    ...{ name: 'ring', title: 'ring', seconds: '21.5 µs', rounds: '2 rounds', sent: '1 KiB' },
    busiestLink: '1 KiB from rank 1 to rank 0',
  });
});

it.each([
  [{ latency: 20 }, '41.5 µs'],
  [{ bandwidth: 4 }, '22.6 µs'],
  [{ overhead: 1 }, '23.5 µs'],
  [{ combining: 0.5 }, '22.0 µs'],
  [{ size: 2 }, '23.1 µs'],
] as const)('the price changes with %j', (part, seconds) => {
  expect(priceWith({ ...simple, ...part })).toMatchObject({ seconds });
});

it('ranks of one worker use its links', () => {
  const inner = { innerLatency: 1, innerBandwidth: 8, innerOverhead: 0 };
  expect(priceWith({ ...simple, ...inner })).toMatchObject({ seconds: '21.5 µs' });
  expect(priceWith({ ...simple, ...inner, ranksPerWorker: 2 })).toMatchObject({ seconds: '3.54 µs' });
});

it('nothing moves with one rank', () => {
  expect(priceWith({ ranks: 1 })).toMatchObject({ rounds: '0 rounds', sent: '0 B', busiestLink: 'nothing moves' });
});

it.each([
  [{ bandwidth: 0 }, 'Bandwidth per port (Gbit/s) must be a number of at least 0.001, got 0'],
  [{ latency: -1 }, 'Latency (µs) must be a number of at least 0, got -1'],
  [{ size: Number.NaN }, 'Buffer (KiB) must be a number of at least 0, got no number'],
  [{ combining: Number.POSITIVE_INFINITY }, 'Combining (GB/s) must be a number of at least 0.001, got Infinity'],
])('the page explains that the network cannot have %j: %s', (part, message) => {
  expect(priceWith(part)).toBe(message);
  expect(pricesOf({ ...initial, ...part })).toEqual([]);
});

it('an invalid number for links within a worker gives a message only if workers have several ranks', () => {
  expect(priceWith({ innerLatency: -1 })).not.toBeTypeOf('string');
  expect(priceWith({ innerLatency: -1, ranksPerWorker: 2 })).toMatch(/^Latency within a worker/);
});

it('the table of prices lists the algorithms that support the ranks, the fastest one first', () => {
  const names = pricesOf({ ...initial, ranks: 6, size: 1 }).map(({ name }) => name);
  expect(names[0]).toBe('direct');
  expect(names).toContain('ring');
  expect(names).not.toContain('rechd');
  expect(names).not.toContain('linear');
});

it('every number of the network has a field', () => {
  const others = ['collective', 'algorithm', 'ranks', 'ranksPerWorker', 'root', 'step', 'without'];
  expect([...fields.map(({ name }) => name), ...others].sort()).toEqual(Object.keys(initial).sort());
});

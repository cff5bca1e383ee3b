import { describe, expect, it } from 'vitest';
import { algorithmGBs, busGBs } from '../src/bandwidth.js';
import { gradientLengths } from '../src/gradients.js';
import { formatMicros, threeDigits } from '../src/report/cells.js';
import { meanOf, summarize } from '../src/statistics.js';

describe('bandwidth', () => {
  it('is bytes divided by time', () => {
    expect(algorithmGBs(2_000_000, 1000)).toBe(2);
  });

  it('of the bus counts the bytes that cross a link of each rank, as nccl-tests defines it', () => {
    const bus = (kind: Parameters<typeof busGBs>[0]) => busGBs(kind, 4, 4_000_000, 1000);
    expect(bus('all-reduce')).toBe(6);
    expect(bus('all-gather')).toBe(3);
    expect(bus('reduce-scatter')).toBe(3);
    expect(bus('broadcast')).toBe(4);
    expect(bus('reduce')).toBe(4);
  });

  it('of the bus is 0 for one rank', () => {
    expect(busGBs('all-reduce', 1, 4_000_000, 1000)).toBe(0);
  });
});

describe('summarize', () => {
  it('returns median, minimum and 95th percentile', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(summarize(samples)).toEqual({ median: 50.5, min: 1, p95: 95 });
  });

  it('returns the middle sample as the median of an odd number of samples', () => {
    expect(summarize([30, 10, 20])).toEqual({ median: 20, min: 10, p95: 30 });
  });

  it('averages all samples', () => {
    expect(meanOf(Float64Array.of(1, 2, 6))).toBe(3);
    expect(() => meanOf([])).toThrow(RangeError);
  });

  it('refuses an empty list', () => {
    expect(() => summarize([])).toThrow(RangeError);
  });
});

describe('formatted numbers', () => {
  it.each([
    [0.25, '0.250 µs'],
    [43.21, '43.2 µs'],
    [1234.5, '1.23 ms'],
    [2_500_000, '2.50 s'],
  ])('show %f microseconds as %s', (micros, text) => {
    expect(formatMicros(micros)).toBe(text);
  });

  it('have three digits and no exponent', () => {
    expect([0, 0.000_05, 0.0123, 1.234, 1234.5].map(threeDigits)).toEqual(['0', '0.000050', '0.0123', '1.23', '1235']);
  });
});

// The numbers of tensors and parameters of the published architectures.
it.each([
  ['resnet50', 161, 25_557_032],
  ['bert-base', 199, 109_482_240],
  ['gpt2-small', 148, 124_439_808],
] as const)('the gradient lengths of %s match the published model', (set, tensors, parameters) => {
  const lengths = gradientLengths(set);
  expect(lengths).toHaveLength(tensors);
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(parameters);
});

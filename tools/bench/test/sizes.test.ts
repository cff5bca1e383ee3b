import { describe, expect, it } from 'vitest';
import { formatBytes, geometricSizes, parseBytes } from '../src/sizes.js';
import { UsageError } from '../src/usage-error.js';

describe('parseBytes', () => {
  it.each([
    ['4', 4],
    ['12B', 12],
    ['64KiB', 65_536],
    ['1MiB', 1_048_576],
    ['1.5 mib', 1_572_864],
    ['2GiB', 2_147_483_648],
  ])('parses %s', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each(['', '0', '3', '-4', '1MB', '4.5', 'large', '1e3', '0.001KiB'])('refuses "%s"', (text) => {
    expect(() => parseBytes(text)).toThrow(UsageError);
  });
});

describe('formatBytes', () => {
  it.each([
    [4, '4 B'],
    [1023, '1023 B'],
    [65_536, '64 KiB'],
    [102_228_128, '97.5 MiB'],
    [2 ** 40, '1024 GiB'],
  ])('prints %i', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});

it('geometricSizes lists sizes including the last', () => {
  expect(geometricSizes(4, 64 * 2 ** 20, 16)).toEqual([4, 64, 1024, 16_384, 262_144, 4_194_304, 67_108_864]);
  expect(geometricSizes(4, 100, 4)).toEqual([4, 16, 64]);
});

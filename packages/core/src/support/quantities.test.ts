import { expect, it } from 'vitest';
import { bytesText, countText, secondsText, shareText } from './quantities.js';

it.each([
  [0, '0 µs'],
  [0.000_001_234, '1.23 µs'],
  [0.004_56, '4.56 ms'],
  [2.5, '2.5 s'],
  [1234.5, '1235 s'],
])('secondsText(%d) has a fitting unit', (seconds, text) => {
  expect(secondsText(seconds)).toBe(text);
});

it.each([
  [0, '0 B'],
  [480, '480 B'],
  [4_800_000, '4.8 MB'],
  [2e15, '2000 TB'],
])('bytesText(%d) has a decimal unit', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

it('counts have a singular, and shares are in percent', () => {
  expect([0, 1, 2].map((count) => countText(count, 'core'))).toEqual(['0 cores', '1 core', '2 cores']);
  expect([0, 0.314, 1].map(shareText)).toEqual(['0 %', '31 %', '100 %']);
});

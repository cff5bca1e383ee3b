import { expect, it } from 'vitest';
import { counted, formatBytes, formatCount, formatSeconds } from './format.ts';

it('seconds are formatted with three digits in a readable unit', () => {
  const shown = [0, 4.5e-7, 1.23456e-5, 9.996e-4, 0.0123456, 1, 33.54e1].map(formatSeconds);
  expect(shown).toEqual(['0 µs', '0.450 µs', '12.3 µs', '1000 µs', '12.3 ms', '1.00 s', '335 s']);
});

it('bytes are formatted in whole units', () => {
  const shown = [0, 1, 1024, 1536, 104857600, 2 ** 30].map(formatBytes);
  expect(shown).toEqual(['0 B', '1 B', '1 KiB', '1536 B', '100 MiB', '1 GiB']);
});

it('thousands are separated by commas', () => {
  expect([8, 4096].map(formatCount)).toEqual(['8', '4,096']);
});

it('a noun is in the plural unless there is one', () => {
  expect([0, 1, 2, 1024].map((count) => counted(count, 'round'))).toEqual([
    '0 rounds',
    '1 round',
    '2 rounds',
    '1,024 rounds',
  ]);
});

import { expect, it } from 'vitest';
import { streamsTo } from './streams.js';

it('members on two hosts use two connections by default', () => {
  expect(streamsTo({ streams: 'auto', size: 2 }, false)).toBe(2);
  expect(streamsTo({ streams: 'auto', size: 2 }, true)).toBe(1);
  expect(streamsTo({ streams: 'auto', size: 3 }, false)).toBe(1);
});

it('members use the configured number of connections', () => {
  expect(streamsTo({ streams: 5, size: 4 }, true)).toBe(5);
  expect(streamsTo({ streams: 5, size: 2 }, false)).toBe(5);
});

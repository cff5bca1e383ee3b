import { expect, it } from 'vitest';
import { mostStreams, streamsTo } from './streams.js';

it('members on two hosts use two connections by default', () => {
  expect(streamsTo({ streams: 'auto', size: 2 }, false)).toBe(2);
  expect(streamsTo({ streams: 'auto', size: 2 }, true)).toBe(1);
  expect(streamsTo({ streams: 'auto', size: 3 }, false)).toBe(1);
});

it('members use the configured number of connections', () => {
  expect(streamsTo({ streams: 5, size: 4 }, true)).toBe(5);
  expect(streamsTo({ streams: 5, size: 2 }, false)).toBe(5);
});

it('a peer cannot request more connections than the member has configured', () => {
  expect(mostStreams({ streams: 'auto', size: 2 })).toBe(2);
  expect(mostStreams({ streams: 'auto', size: 4 })).toBe(1);
  expect(mostStreams({ streams: 3, size: 4 })).toBe(3);
});

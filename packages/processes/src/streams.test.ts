import { expect, it } from 'vitest';
import { mostStreams, streamsTo } from './streams.js';

it('takes two connections between two members on two hosts', () => {
  expect(streamsTo({ streams: 'auto', size: 2 }, false)).toBe(2);
  expect(streamsTo({ streams: 'auto', size: 2 }, true)).toBe(1);
  expect(streamsTo({ streams: 'auto', size: 3 }, false)).toBe(1);
});

it('takes as many as it is told', () => {
  expect(streamsTo({ streams: 5, size: 4 }, true)).toBe(5);
  expect(streamsTo({ streams: 5, size: 2 }, false)).toBe(5);
});

it('lets strangers ask for no more than the members have', () => {
  expect(mostStreams({ streams: 'auto', size: 2 })).toBe(2);
  expect(mostStreams({ streams: 'auto', size: 4 })).toBe(1);
  expect(mostStreams({ streams: 3, size: 4 })).toBe(3);
});

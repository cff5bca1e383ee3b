import { expect, it } from 'vitest';
import { tensor } from '../values/tensor.js';
import { JoinedSegments } from './joined-segments.js';

const pieces = () => [[1, 2], [], [3], [4, 5, 6]].map((numbers) => tensor(Float32Array.from(numbers)));

it('JoinedSegments copies any range out of the segments', () => {
  const joined = new JoinedSegments(pieces());
  expect(joined.length).toBe(6);
  for (let begin = 0; begin <= 6; begin++) {
    for (let end = begin; end <= 6; end++) {
      const into = new Float32Array(6);
      joined.copyTo(into, begin, end);
      const wanted = [1, 2, 3, 4, 5, 6].slice(begin, end);
      expect([...into]).toEqual([...wanted, ...Array(6 - wanted.length).fill(0)]);
    }
  }
});

it('JoinedSegments copies any range into the segments, and nothing beyond their end', () => {
  for (let begin = 0; begin <= 6; begin++) {
    for (let end = begin; end <= 8; end++) {
      const into = pieces();
      new JoinedSegments(into).copyFrom(Float32Array.of(11, 12, 13, 14, 15, 16, 17, 18), begin, end);
      const wanted = [1, 2, 3, 4, 5, 6].map((old, index) => (index >= begin && index < end ? 11 + index - begin : old));
      expect(into.flatMap(({ data }) => [...data])).toEqual(wanted);
    }
  }
});

it('JoinedSegments detects that memory was detached', () => {
  const given = pieces();
  const joined = new JoinedSegments(given);
  expect(joined.isWhole).toBe(true);
  const { buffer } = (given[2] as (typeof given)[number]).data;
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  expect(joined.isWhole).toBe(false);
});

import { expect, it } from 'vitest';
import { spaceTimePicture } from './space-time.ts';

const transfer = (from: number, to: number, chunk: number, reduce: boolean) => ({ from, to, chunk, reduce });

const picture = spaceTimePicture('two ranks', {
  ranks: 2,
  chunks: 3,
  rounds: [[transfer(0, 1, 2, true), transfer(0, 1, 0, true), transfer(1, 0, 1, true)], [transfer(1, 0, 2, false)]],
});

it('a space-time diagram has one arrow per pair of ranks and round, with all chunks sent', () => {
  expect([...picture.matchAll(/marker-end/g)].length).toBe(3);
  expect([...picture.matchAll(/<text [^>]*>([^<]*)</g)].map(([, words]) => words)).toEqual([
    'rank 0',
    'rank 1',
    'round 0',
    'round 1',
    '0,2',
    '1',
    '2',
  ]);
});

it('a space-time diagram draws copies with dashed arrows', () => {
  const arrows = [...picture.matchAll(/<path d="M(\d+) \d+L(\d+) \d+"[^>]*>/g)];
  expect(arrows.map(([path]) => path.includes('stroke-dasharray'))).toEqual([false, false, true]);
  const [first, second] = arrows.map(([, x1, x2]) => Number(x2) - Number(x1)) as [number, number];
  expect(first).toBe(-second);
});

it('a space-time diagram has room for all ranks and rounds, and a title', () => {
  const [width, height] = [...picture.matchAll(/viewBox="0 0 (\d+) (\d+)"/g)].flatMap(([, w, h]) => [
    Number(w),
    Number(h),
  ]);
  const points = [...picture.matchAll(/<circle cx="(\d+)" cy="(\d+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);
  expect(points.length).toBe(6);
  expect(points.every(([x, y]) => (x as number) < (width as number) && (y as number) < (height as number))).toBe(true);
  expect(picture).toContain('<title>two ranks</title>');
});

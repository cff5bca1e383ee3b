import { describe, expect, it } from 'vitest';
import { digits, pixels } from './digits.ts';

const request = { seed: 7, first: 0, stride: 1, count: 600 };

describe('digits', () => {
  it('are the same for the same seed, and different for another seed', () => {
    const few = { ...request, count: 20 };
    expect(digits(few)).toEqual(digits(few));
    expect(digits({ ...few, seed: 8 }).labels).not.toEqual(digits(few).labels);
  });

  it('are distributed to replicas without gaps or repeats', () => {
    const all = digits(request);
    const odd = digits({ ...request, first: 1, stride: 2, count: 300 });
    const [third, second] = [all.images.subarray(3 * pixels, 4 * pixels), odd.images.subarray(pixels, 2 * pixels)];
    expect(second).toEqual(third);
    expect(odd.labels).toEqual(all.labels.filter((_, index) => index % 2 === 1));
  });

  it('contain each of the ten digits about equally often, with ink from 0 to 1 on mostly empty paper', () => {
    const { images, labels } = digits(request);
    const counts = Array.from({ length: 10 }, (_, digit) => labels.filter((label) => label === digit).length);
    expect(Math.min(...counts)).toBeGreaterThan(30);
    expect(images.every((ink) => ink >= 0 && ink <= 1)).toBe(true);
    const mean = images.reduce((sum, ink) => sum + ink, 0) / images.length;
    expect(mean).toBeGreaterThan(0.08);
    expect(mean).toBeLessThan(0.3);
  });

  it('with the same label are similar, but too varied to be classified by their average', () => {
    const known = digits(request);
    const centres = Array.from({ length: 10 }, (_, digit) => averageOf(known, digit));
    const unknown = digits({ ...request, first: 100_000 });
    const read = unknown.labels.filter((label, index) => {
      const image = unknown.images.subarray(index * pixels, (index + 1) * pixels);
      const distances = centres.map((centre) => squaredDistance(centre, image));
      return distances.indexOf(Math.min(...distances)) === label;
    }).length;
    expect(read / unknown.count).toBeGreaterThan(0.5);
    expect(read / unknown.count).toBeLessThan(0.92);
  });
});

function averageOf({ images, labels }: ReturnType<typeof digits>, digit: number): Float32Array {
  const sum = new Float32Array(pixels);
  const shown = [...labels.keys()].filter((index) => labels[index] === digit);
  for (const index of shown) {
    for (let at = 0; at < pixels; at++)
      sum[at] = (sum[at] as number) + (images[index * pixels + at] as number) / shown.length;
  }
  return sum;
}

function squaredDistance(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + (value - (b[index] as number)) ** 2, 0);
}

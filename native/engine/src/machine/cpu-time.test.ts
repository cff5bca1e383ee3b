import { describe, expect, it } from 'vitest';
import { cpuTime, foreignPart } from './cpu-time.js';

describe('the part of the cores that other programs used', () => {
  const before = { busy: 1000, idle: 500, own: 300 };

  it.each<[string, { busy: number; idle: number; own: number }, number]>([
    ['half', { busy: 3000, idle: 500, own: 1300 }, 0.5],
    ['nothing if this process alone was busy', { busy: 2900, idle: 600, own: 2200 }, 0],
    ['nothing if the clocks of system and process differ', { busy: 2900, idle: 600, own: 2210 }, 0],
    ['nothing in no time', before, 0],
  ])('is %s', (_, after, part) => {
    expect(foreignPart(before, after)).toBeCloseTo(part);
  });

  it('is computed from the times of this machine', () => {
    const { busy, idle, own } = cpuTime();
    expect(own).toBeGreaterThan(0);
    expect(busy + idle).toBeGreaterThan(own);
  });
});

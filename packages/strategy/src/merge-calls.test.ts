import { describe, expect, it } from 'vitest';
import { MergeCalls } from './merge-calls.js';

describe('MergeCalls', () => {
  it('are held once all replicas have come, each with its arguments', () => {
    const calls = new MergeCalls(3);
    calls.add(2, 'c');
    calls.add(0, 'a');
    expect(calls.replicas).toEqual([0, 2]);
    expect(calls.next()).toBeUndefined();
    calls.add(1, 'b');
    expect(calls.next()).toEqual(['a', 'b', 'c']);
    expect(calls.replicas).toEqual([]);
  });

  it('are held one after the other, in the order of each replica', () => {
    const calls = new MergeCalls(2);
    for (const [replica, args] of [
      [0, 1],
      [0, 2],
      [1, 10],
      [1, 20],
    ] as const)
      calls.add(replica, args);
    expect(calls.next()).toEqual([1, 10]);
    expect(calls.next()).toBeUndefined();
    calls.end();
    expect(calls.next()).toEqual([2, 20]);
    calls.end();
    expect(calls.next()).toBeUndefined();
  });
});

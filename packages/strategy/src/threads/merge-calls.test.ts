import { describe, expect, it } from 'vitest';
import { requireMergeCall } from '../replicas/merge-call.js';
import { MergeCalls } from './merge-calls.js';

describe('requireMergeCall', () => {
  const fn = () => 1;
  const named = { rate: 1 };

  it('returns the arguments, with kwargs last', () => {
    expect(requireMergeCall(fn)).toEqual([]);
    expect(requireMergeCall(fn, [1, 2])).toEqual([1, 2]);
    expect(requireMergeCall(fn, [1], named)).toEqual([1, named]);
    expect(requireMergeCall(fn, undefined, named)).toEqual([named]);
  });

  it.each<[Parameters<typeof requireMergeCall>, string]>([
    [[5 as never], '5, undefined'],
    [[fn, 6 as never], 'function fn, 6'],
    [[5 as never, [1], named], '5, [1], an object (Object)'],
    [[fn, [1], 7 as never], 'function fn, [1], 7'],
  ])('quotes the invalid arguments: %j', (given, message) => {
    const refused = {
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'mergeCall' },
      message: `mergeCall takes a function, a list of arguments and an object of named arguments, got ${message}`,
    };
    expect(() => requireMergeCall(...given)).toThrow(expect.objectContaining(refused));
  });
});

describe('MergeCalls', () => {
  it('start once all replicas have arrived, with the arguments of each', () => {
    const calls = new MergeCalls(3);
    calls.add(2, 'c');
    calls.add(0, 'a');
    expect(calls.replicas).toEqual([0, 2]);
    expect(calls.next()).toBeUndefined();
    calls.add(1, 'b');
    expect(calls.next()).toEqual(['a', 'b', 'c']);
    expect(calls.replicas).toEqual([]);
  });

  it('run one after the other, in the order of each replica', () => {
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

import { ValueError } from '@coll/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandHostList, expandTaskCounts } from './host-list.js';

describe('expandHostList', () => {
  it.each<readonly [string, string[]]>([
    ['a', ['a']],
    ['a[1-3,7],b2', ['a1', 'a2', 'a3', 'a7', 'b2']],
    [
      'gpu[001-003,7],login,x[1-2]y[3-4]',
      ['gpu001', 'gpu002', 'gpu003', 'gpu7', 'login', 'x1y3', 'x1y4', 'x2y3', 'x2y4'],
    ],
    ['n[0001-0003]', ['n0001', 'n0002', 'n0003']],
    ['n[9-11]', ['n9', 'n10', 'n11']],
    ['n[08-10]-ib', ['n08-ib', 'n09-ib', 'n10-ib']],
    [' a , b[1 , 3] ', ['a', 'b1', 'b3']],
    ['[1-2]', ['1', '2']],
    ['n[5-5]', ['n5']],
    ['n[999999999999999]', ['n999999999999999']],
  ])('expands %s', (list, hosts) => {
    expect(expandHostList(list)).toEqual(hosts);
  });

  it.each([
    '',
    'a,,b',
    'a[',
    'a]',
    'a[1',
    'a[1]]',
    'a[[1]]',
    'a[]',
    'a[1-]',
    'a[3-1]',
    'a[x]',
    'a[1-2-3]',
    'a[0-9999999]',
    'a[0-999999999999999]',
    'a[99999999999999999998]',
  ])('refuses the host list %j', (list) => {
    expect(() => expandHostList(list)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });

  it.each([
    ['a]b[1', 'its brackets do not match'],
    ['a[', 'its brackets do not match'],
    ['a[1', 'its brackets do not match'],
    ['a[[1]]', 'its brackets do not match'],
    ['a[1]]', 'its brackets do not match'],
    ['a[0-999999999999999]', 'it has more than 100000 hosts'],
    ['a[]', '"" is not a number or a range'],
    ['a[3-1]', 'the range 3-1 runs backwards'],
    ['a[x]', '"x" is not a number or a range'],
    ['a[1000000000000000]', '"1000000000000000" is not a number or a range'],
    ['a[1-1000000000000000]', '"1-1000000000000000" is not a number or a range'],
    ['a[1x]', '"1x" is not a number or a range'],
    ['a,,b', 'a host has no name'],
  ])('reports what is wrong with %j', (list, message) => {
    expect(() => expandHostList(list)).toThrow(message);
  });

  it.each(['a[1-100000]', 'a[1-1000]b[1-100]', 'a[1-99999],b'])(
    'expands %s, which has the maximum number of hosts',
    (list) => {
      expect(expandHostList(list)).toHaveLength(100_000);
    },
  );

  it.each(['a[1-100001]', 'a[1-1001]b[1-100]', 'a[1-100000],b'])('refuses %s, which has too many hosts', (list) => {
    expect(() => expandHostList(list)).toThrow('it has more than 100000 hosts');
  });

  it('expands a list in brackets of any host numbers', () => {
    const numbers = fc.uniqueArray(fc.nat({ max: 999 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 5 }), (list, width) => {
        const names = list.map((number) => String(number).padStart(width, '0'));
        expect(expandHostList(`node[${names}],last`)).toEqual([...names.map((name) => `node${name}`), 'last']);
      }),
    );
  });

  it('returns hosts or throws a ValueError for any text', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '1', '0', '[', ']', ',', '-', ' ') });
    fc.assert(
      fc.property(text, (list) => {
        try {
          expect(expandHostList(list).every((host) => host !== '' && !/[[\],]/.test(host))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ValueError);
        }
      }),
    );
  });
});

describe('expandTaskCounts', () => {
  it('quotes an invalid list', () => {
    expect(() => expandTaskCounts('1,two')).toThrow('the tasks per node must be counts such as 2(x3),1, got "1,two"');
  });

  it.each<readonly [string, number[]]>([
    ['1', [1]],
    ['2(x3),1', [2, 2, 2, 1]],
    ['4(x2),3', [4, 4, 3]],
    [' 12(x2) , 3', [12, 12, 3]],
    ['1(x10)', new Array(10).fill(1)],
  ])('expands %s', (list, counts) => {
    expect(expandTaskCounts(list)).toEqual(counts);
  });

  it.each(['', '2(x', '2x3', '-1', '2(x3)1', 'a1', '1a', 'two', '1(x9999999)'])(
    'refuses the task counts %j',
    (list) => {
      expect(() => expandTaskCounts(list)).toThrow(
        expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
      );
    },
  );

  it('accepts as many nodes as a host list may have, and no more', () => {
    expect(expandTaskCounts('1(x100000)')).toHaveLength(100_000);
    expect(() => expandTaskCounts('1(x100001)')).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });
});

import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { PerReplica } from './distributed-values.js';
import { IndexedSlices } from './indexed-slices.js';
import { flatten, formOf, isMapping, mapStructure, packLike, type Structure, zipStructures } from './structure.js';
import { tensor, tensorSymbol } from './tensor.js';

const { structure: arbitraryStructure } = fc.letrec<{ structure: Structure<number> }>((tie) => ({
  structure: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.integer(),
    fc.array(tie('structure'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('structure'), { maxKeys: 4 }),
  ),
}));

describe('flatten()', () => {
  it('returns the leaves from left to right, with sorted keys of objects', () => {
    expect(flatten<number>([1, [2, { b: 5, a: [3, 4] }], [], {}, 6])).toEqual([1, 2, 3, 4, 5, 6]);
    expect(flatten(7)).toEqual([7]);
  });

  const leaves = [
    ['a tensor', tensor([1])],
    ['a plain object with the fields of a tensor', { data: new Float32Array(1), dtype: 'float32', shape: [1] }],
    ['a typed array', new Float32Array(2)],
    ['indexed slices', new IndexedSlices(tensor([1]), new Int32Array(1))],
    ['distributed values', new PerReplica([1, 2])],
    ['a plain object that carries a tensor', { [tensorSymbol]: () => tensor([1]) }],
    ['an object of a class', new (class Weights {})()],
    ['a map', new Map([['a', 1]])],
    ['a date', new Date(0)],
    ['undefined', undefined],
    ['null', null],
    ['a function', () => {}],
  ] as const;

  it.each(leaves)('treats %s as a leaf', (_, leaf) => {
    expect(flatten<unknown>(leaf)).toEqual([leaf]);
    expect(flatten<unknown>({ a: [leaf] } as never)[0]).toBe(leaf);
  });
});

describe('a structure that contains itself', () => {
  const circle: Record<string, unknown> = { a: 1 };
  circle['self'] = circle;
  const list: unknown[] = [1];
  list.push(list, list);

  it.each([
    ['an object', circle as Structure<unknown>],
    ['a list', list as Structure<unknown>],
  ])('is refused by every function that traverses a structure, if it is %s', (_, structure) => {
    for (const walk of [
      () => flatten(structure),
      () => mapStructure(structure, (leaf) => leaf),
      () => packLike(structure, []),
      () => zipStructures([structure, structure], (leaves) => leaves),
      () => formOf(structure),
    ]) {
      expect(walk).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }));
      expect(walk).toThrow('a structure must be at most 100 levels deep; does a list or an object contain itself?');
    }
  });

  it('is detected by its depth: more than 100 levels are refused', () => {
    const nest = (depth: number): Structure<number> => (depth === 0 ? 1 : [nest(depth - 1)]);
    expect(flatten(nest(100))).toEqual([1]);
    expect(() => flatten(nest(101))).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }));
  });
});

describe('isMapping', () => {
  it.each(['shape', 'dtype', 'device'])(
    'is false for an object that has only the tensor fields data and %s',
    (field) => {
      expect(isMapping({ data: new Float32Array(2), [field]: 'cpu:0' })).toBe(false);
    },
  );

  it('is true for an object with a typed array in data and no other field, or a field that tensors lack', () => {
    expect(isMapping({ data: new Float32Array(2) })).toBe(true);
    expect(isMapping({ data: new Float32Array(2), labels: new Float32Array(2) })).toBe(true);
    expect(isMapping({ data: new Float32Array(2), device: 'cpu:0', labels: 1 })).toBe(true);
  });

  it('is true for plain objects, also without a prototype or from other realms', () => {
    expect([{}, { a: 1 }, Object.create(null), runInNewContext('({ a: 1 })')].map(isMapping)).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  it('is true for an object with tensor field names whose data is not a typed array', () => {
    expect(isMapping({ dtype: 'float32', data: 'digits' })).toBe(true);
  });

  it('is false for lists and leaves', () => {
    expect([[], tensor([1]), new Map(), null, undefined, 1, 'a'].filter(isMapping)).toEqual([]);
  });
});

describe('mapStructure', () => {
  it('keeps lists and keys, and does not change its argument', () => {
    const structure: Structure<number> = { a: [1, { b: 2 }], c: 3 };
    expect(mapStructure<number, number>(structure, (leaf) => leaf * 10)).toEqual({ a: [10, { b: 20 }], c: 30 });
    expect(structure).toEqual({ a: [1, { b: 2 }], c: 3 });
  });

  it('keeps a key of the name __proto__', () => {
    const structure = JSON.parse('{"__proto__": 1}') as Structure<number>;
    expect(Object.entries(mapStructure<number, number>(structure, (leaf) => leaf + 1))).toEqual([['__proto__', 2]]);
  });
});

describe('packLike', () => {
  it('restores a structure from its flattened leaves', () => {
    fc.assert(
      fc.property(arbitraryStructure, (structure) => {
        expect(packLike(structure, flatten(structure))).toEqual(structure);
      }),
    );
  });

  it('replaces the leaves in the order of flatten', () => {
    fc.assert(
      fc.property(arbitraryStructure, (structure) => {
        const others = flatten(structure).map((_, index) => `leaf ${index}`);
        expect(flatten(packLike<number, string>(structure, others))).toEqual(others);
      }),
    );
  });
});

describe('zipStructures', () => {
  const join = (leaves: readonly number[]) => leaves.join('+');

  it('combines the leaves at the same position', () => {
    const joined = zipStructures<number, string>(
      [
        { a: [1, 2], b: 3 },
        { a: [10, 20], b: 30 },
      ],
      join,
    );
    expect(joined).toEqual({ a: ['1+10', '2+20'], b: '3+30' });
  });

  it('matches leaves by key, whatever the order of keys', () => {
    expect(
      zipStructures<number, string>(
        [
          { a: 1, b: 2 },
          { b: 20, a: 10 },
        ],
        join,
      ),
    ).toEqual({ a: '1+10', b: '2+20' });
  });

  it('passes pairs of equal leaves if a structure is zipped with itself', () => {
    fc.assert(
      fc.property(arbitraryStructure, (structure) => {
        const [first] = [zipStructures<number, number>([structure, structure], ([leaf]) => leaf as number)];
        expect(first).toEqual(structure);
      }),
    );
  });

  it.each<readonly [string, Structure<number>, Structure<number>]>([
    ['lists of different lengths', [1, 2], [1]],
    ['a list and a leaf', [1], 1],
    ['a list and an object', [1], { 0: 1 }],
    ['an object with one key less', { a: 1, b: 2 }, { a: 1 }],
    ['an object with one key more', { a: 1 }, { a: 1, b: 2 }],
    ['an object with another key', { a: 1, b: 2 }, { a: 1, c: 2 }],
    ['an object and a leaf', { a: 1 }, 1],
    ['differences at a deeper level', { a: [{ b: [1] }] }, { a: [{ b: [1, 2] }] }],
  ])('refuses %s', (_, first, second) => {
    expect(thrown(() => zipStructures([first, first, second], join))).toMatchObject({
      name: 'AssertionError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringMatching(/^replicas returned different structures: replica 0 .*, replica 2 /),
    });
  });

  it('shows what to return instead of lists of different lengths', () => {
    const advice = /replica 0 a list of 1, replica 1 a list of 2; .*: return typed arrays, whose lengths may differ$/;
    expect(() => zipStructures([[1], [1, 2]], join)).toThrow(advice);
  });

  it('names the forms of both structures in the error', () => {
    expect(() => zipStructures([[1], { a: 1 }], join)).toThrow(/replica 0 a list of 1, .* the keys a$/);
  });
});

describe('formOf', () => {
  it.each<readonly [unknown, string]>([
    [new Float32Array(2), ''],
    [3, ''],
    [[1, 2, 3], '[3]'],
    [[], '[0]'],
    [{ b: 1, a: 2 }, '{a, b}'],
    [{ a: [1, 2], b: { c: 1 } }, '{a: [2], b: {c}}'],
    [[1, [2], { a: 1 }], '[, [1], {a}]'],
  ])('returns, for the structure %j, the form %s', (structure, form) => {
    expect(formOf(structure)).toBe(form);
  });
});

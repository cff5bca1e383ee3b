import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { containerSymbol, Mirrored, PerReplica } from './distributed-values.js';
import { mirror, regroup, selectReplica, selectReplicaMirrored } from './regroup.js';
import { tensor } from './tensor.js';

const [a, b, shared] = [tensor([1]), tensor([2]), tensor([3])];

describe('regroup', () => {
  it('wraps differing leaves in replica order', () => {
    const value = regroup([a, b]) as PerReplica;
    expect(value).toBeInstanceOf(PerReplica);
    expect([value.values[0], value.values[1]]).toEqual([a, b]);
  });

  it('traverses lists and objects', () => {
    expect(
      regroup([
        { loss: 1, grads: [a, shared] },
        { loss: 2, grads: [b, shared] },
      ]),
    ).toEqual({
      loss: new PerReplica([1, 2]),
      grads: [new PerReplica([a, b]), shared],
    });
  });

  it('returns an identical object unwrapped', () => {
    expect(regroup([shared, shared])).toBe(shared);
  });

  it('wraps objects that are equal but not identical', () => {
    expect(regroup([tensor([3]), tensor([3])])).toBeInstanceOf(PerReplica);
  });

  it.each([[1], ['text'], [undefined], [null], [Number.NaN], [7n]])(
    'returns the equal primitive %o unwrapped',
    (value) => {
      expect(regroup([value, value])).toBe(value);
    },
  );

  it.each([[3], [Number.NaN], [7n]])('wraps the equal number %o of several replicas with wrapNumbers', (value) => {
    const wrapped = regroup([{ loss: value }, { loss: value }], { wrapNumbers: true });
    expect(wrapped).toEqual({ loss: new PerReplica([value, value]) });
    expect(regroup([value], { wrapNumbers: true })).toBe(value);
  });

  it('returns equal strings and identical objects unwrapped with wrapNumbers', () => {
    expect(
      regroup(
        [
          ['text', shared],
          ['text', shared],
        ],
        { wrapNumbers: true },
      ),
    ).toEqual(['text', shared]);
  });

  it('distinguishes -0 from 0, like Object.is', () => {
    expect(regroup([0, -0])).toBeInstanceOf(PerReplica);
  });

  it('wraps nothing for one replica', () => {
    expect(regroup([{ x: [a, 1] }])).toEqual({ x: [a, 1] });
  });

  it('wraps everything with alwaysWrap', () => {
    expect(regroup([shared, shared], { alwaysWrap: true })).toEqual(new PerReplica([shared, shared]));
    expect(regroup([1], { alwaysWrap: true })).toEqual(new PerReplica([1]));
  });

  it('wraps in the requested class', () => {
    const value = regroup([a, b], { wrapClass: Mirrored });
    expect(value).toBeInstanceOf(Mirrored);
    expect(value).not.toBeInstanceOf(PerReplica);
  });

  it('refuses a wrapper that is not a class, and a replica that is not a number', () => {
    const arrow = (() => {}) as never;
    expect(thrown(() => regroup([a, b], { wrapClass: arrow }))).toMatchObject({
      code: 'ERR_COLL_VALUE',
      message: 'wrapClass must be a class, got function arrow',
    });
    const missing = thrown(() => selectReplica(Object.create(null), new PerReplica([a, b])));
    expect(missing).toMatchObject({
      message: 'replica an object (no prototype) has no component in this PerReplica, which has 2 components',
    });
  });

  it('refuses structures of different forms', () => {
    expect(thrown(() => regroup([[a], [a, b]]))).toMatchObject({ name: 'AssertionError', code: 'ERR_COLL_VALUE' });
  });

  it('is reversed by selectReplica', () => {
    const form = fc.record({ x: fc.integer(), list: fc.tuple(fc.string(), fc.record({ y: fc.boolean() })) });
    fc.assert(
      fc.property(fc.array(form, { minLength: 1, maxLength: 4 }), (structures) => {
        const whole = regroup(structures);
        for (const [replica, structure] of structures.entries())
          expect(selectReplica(replica, whole)).toEqual(structure);
      }),
    );
  });
});

describe('variables in regroup', () => {
  class Variable extends Mirrored<object> {
    override get isVariable(): boolean {
      return true;
    }
  }

  function variableOf(replicas: number): Variable {
    const components = Array.from({ length: replicas }, () => new (class Component {})());
    const made = new Variable(components);
    for (const component of components) Object.defineProperty(component, containerSymbol, { value: made });
    return made;
  }

  it.each([1, 2, 3])('are returned themselves if the leaves are their %i components', (replicas) => {
    const made = variableOf(replicas);
    expect(regroup(made.values.map((component) => ({ x: [component] })) as never)).toEqual({ x: [made] });
    expect((regroup(made.values) as unknown) === made).toBe(true);
    expect(regroup(made.values, { alwaysWrap: true })).toBe(made);
  });

  it('are returned unchanged if all replicas return them whole, also with alwaysWrap', () => {
    const made = variableOf(2);
    expect(regroup([made, made])).toBe(made);
    expect(regroup([made, made], { alwaysWrap: true })).toBe(made);
    expect(regroup([made, variableOf(2)])).toBeInstanceOf(PerReplica);
  });

  it('must be the same on all replicas', () => {
    const [one, other] = [variableOf(2), variableOf(2)];
    for (const second of [other.values[1], 5, undefined, one])
      expect(thrown(() => regroup([one.values[0], second]))).toMatchObject({ name: 'AssertionError', rank: 1 });
  });

  it('are also returned whole by selectReplica', () => {
    const made = variableOf(2);
    expect(selectReplica(1, { x: [made], y: made.values[0] })).toEqual({ x: [made], y: made.values[0] });
    expect(selectReplicaMirrored(1, made)).toBe(made);
  });
});

describe('selectReplica', () => {
  it('selects components of distributed values and keeps other leaves', () => {
    const structure = { x: new PerReplica([a, b]), y: [new Mirrored([1, 2]), 'same'] };
    expect(selectReplica(0, structure)).toEqual({ x: a, y: [1, 'same'] });
    expect(selectReplica(1, structure)).toEqual({ x: b, y: [2, 'same'] });
  });
});

it('selectReplica throws if the replica has no component', () => {
  const error = thrown(() => selectReplica(2, { x: new PerReplica([a, b]) }));
  expect(error).toMatchObject({
    name: 'RangeError',
    message: 'replica 2 has no component in this PerReplica, which has 2 components',
  });
});

describe('selectReplicaMirrored', () => {
  it('selects components of mirrored values and keeps other leaves', () => {
    expect(selectReplicaMirrored(1, { x: new Mirrored([a, b]), y: 3 })).toEqual({ x: b, y: 3 });
  });

  it('refuses values that are not mirrored, at any depth', () => {
    const error = thrown(() => selectReplicaMirrored(0, { x: [new Mirrored([1, 2]), new PerReplica([1, 2])] }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: 'ERR_COLL_TYPE', message: expect.stringContaining('got PerReplica:{') });
  });
});

it('mirror() wraps several values, and returns a single value unwrapped', () => {
  expect(mirror([a])).toBe(a);
  expect(mirror([a, b])).toEqual(new Mirrored([a, b]));
});

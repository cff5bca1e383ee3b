import {
  asTensor,
  CollError,
  canonicalize,
  PerReplica,
  type Tensor,
  tensor,
  tensorSymbol,
  toNumbers,
} from '@coll/core';
import { afterEach, describe, expect, it } from 'vitest';
import { Float16ArrayDouble } from '../../../core/test/float16-array-double.js';
import { strategyOf } from '../../test/strategies.js';
import { held, mirrored } from '../../test/variables.js';
import {
  experimentalSetStrategy,
  getStrategy,
  MirroredVariable,
  SyncOnReadVariable,
  Variable,
  VariableAggregation,
  VariableSynchronization,
  variable,
} from '../index.js';
import { LocalVariable } from '../variables/local-variable.js';
import { DistributedVariable } from './distributed-variable.js';

const two = strategyOf(2);

afterEach(() => experimentalSetStrategy(undefined));

it('a variable that starts with a Float16Array is read as one', async () => {
  const initial = () => new Float16ArrayDouble([0x3c00]) as never;
  const [one, twice] = [new Float16ArrayDouble([0x3c00]), new Float16ArrayDouble([0x4000])];
  const plain = two.scope(() => variable(initial()));
  expect(plain.read().data).toEqual(one);
  expect(two.scope(() => variable(initial(), { dtype: 'float16' })).read().data).toEqual(one);
  await two.run(() => plain.assign(twice as never));
  expect(plain.read().data).toEqual(twice);
  const sum = two.scope(() => variable(initial(), { synchronization: 'ON_READ', aggregation: 'SUM' }));
  expect(sum.read().data).toEqual(twice);
  const total = await two.reduce('sum', new PerReplica([initial(), initial()]) as never, 0);
  expect((total as Tensor).data).toEqual(twice);
});

describe('a variable created in a scope', () => {
  it.each([
    [undefined, 'ON_WRITE', MirroredVariable, true],
    ['AUTO', 'ON_WRITE', MirroredVariable, true],
    ['ON_WRITE', 'ON_WRITE', MirroredVariable, true],
    ['on_write', 'ON_WRITE', MirroredVariable, true],
    ['ON_READ', 'ON_READ', SyncOnReadVariable, false],
  ] as const)(
    'has, for the option synchronization %s, the synchronization %s',
    (synchronization, expected, Class, trainable) => {
      const made = two.scope(() => variable([1], synchronization ? { synchronization } : {}));
      expect(made).toBeInstanceOf(Class);
      expect(made).toBeInstanceOf(Variable);
      expect(made).toMatchObject({ name: 'Variable', synchronization: expected, trainable, aggregation: 'NONE' });
    },
  );

  it.each([
    [
      'synchronization NONE',
      { synchronization: 'NONE' },
      /a variable of several replicas cannot have synchronization NONE/,
    ],
    [
      'an unknown synchronization',
      { synchronization: 'LATER' },
      /synchronization must be one of AUTO, NONE, ON_WRITE, ON_READ/,
    ],
    [
      'an unknown aggregation',
      { aggregation: 'MAX' },
      /aggregation must be one of NONE, SUM, MEAN, ONLY_FIRST_REPLICA, got "MAX"/,
    ],
    ['an aggregation that is not a string', { aggregation: 1 }, /aggregation must be one of/],
    ['an inherited name', { aggregation: 'toString' }, /aggregation must be one of/],
    ['the mean of integers', { aggregation: 'MEAN', dtype: 'int32' }, /aggregation MEAN is not defined for int32/],
    [
      'the mean of integers on read',
      { aggregation: 'MEAN', dtype: 'int64', synchronization: 'ON_READ' },
      /not defined for int64/,
    ],
    ['a name that is not a string', { name: 5 }, /the name of a variable must be a string/],
    ['an unknown dtype', { dtype: 'float' }, /unknown dtype/],
  ])('refuses %s', (_, options, message) => {
    const create = () => two.scope(() => variable([1], options as never));
    expect(create).toThrow(message);
    expect(create).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }));
  });

  it.each(['float16', 'bfloat16', 'float32', 'float64'] as const)(
    'may have aggregation MEAN with dtype %s',
    (dtype) => {
      expect(mirrored(two, [1.5], { dtype, aggregation: 'MEAN' })).toMatchObject({ dtype, aggregation: 'MEAN' });
    },
  );

  it.each([
    ['a number', 2, 'float64', [], [2]],
    ['numbers', [1, 2], 'float64', [2], [1, 2]],
    ['an array', Int32Array.of(3), 'int32', [1], [3]],
    ['a tensor', tensor([1, 2], { dtype: 'bfloat16', shape: [2, 1] }), 'bfloat16', [2, 1], [1, 2]],
    ['an object that carries a tensor', { [tensorSymbol]: () => Float32Array.of(4) }, 'float32', [1], [4]],
    ['another variable', mirrored(two, [5]), 'float32', [1], [5]],
    ['no elements', new Float32Array(0), 'float32', [0], []],
  ])('has the initial value %s', (_, initial, dtype, shape, numbers) => {
    const made = two.scope(() => variable(initial)) as MirroredVariable;
    expect(made).toMatchObject({ dtype, shape });
    expect(held(made)).toEqual([numbers, numbers]);
  });

  it('refuses an initial value that is not numeric, or a tensor of another dtype', () => {
    expect(
      held(two.scope(() => variable(new Uint16Array([0x3c00]), { dtype: 'float16' })) as MirroredVariable)[1],
    ).toEqual([1]);
    for (const initial of ['text', undefined, null, {}, ['1']])
      expect(() => two.scope(() => variable(initial as never))).toThrow(CollError);
    expect(() => two.scope(() => variable(tensor(Float32Array.of(1)), { dtype: 'float64' }))).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_VALUE',
        message: expect.stringContaining('of float64 cannot start with a tensor of float32'),
      }),
    );
    const same = two.scope(() => variable(tensor(Float32Array.of(1)), { dtype: 'float32' }));
    expect(same).toMatchObject({ dtype: 'float32' });
  });

  it('belongs to the current strategy, also if experimentalSetStrategy has set the strategy', () => {
    experimentalSetStrategy(two);
    const made = variable([1]) as DistributedVariable;
    expect([made.strategy, made.values.length]).toEqual([two, 2]);
    const other = strategyOf(1);
    expect(() => other.extended.createVariable(1)).toThrow(/^Mixing different strategies: createVariable/);
    experimentalSetStrategy(undefined);
    expect((other.extended.createVariable(1) as DistributedVariable).values).toHaveLength(1);
  });
});

describe('a variable created in replicas of one thread', () => {
  it("is shared by all of them and starts with replica 0's value", async () => {
    const made = await two.run(({ replicaIdInSyncGroup: id }) => [
      variable([id + 1], { name: 'a' }),
      variable([id + 10], { name: 'b', synchronization: 'on_read' }),
    ]);
    const [a, b] = made as unknown as [MirroredVariable, SyncOnReadVariable];
    expect([a, b].map(({ name }) => name)).toEqual(['a', 'b']);
    expect([held(a), held(b)]).toEqual([
      [[1], [1]],
      [[10], [10]],
    ]);
  });

  it('is a new variable in each run', async () => {
    const [one, other] = [await two.run(() => variable(1)), await two.run(() => variable(1))];
    expect(one).toBeInstanceOf(MirroredVariable);
    expect(one).not.toBe(other);
  });

  it('must be the same on all replicas', async () => {
    const differ = two.run(({ replicaIdInSyncGroup: id }) => variable([id], { name: `v${id}` }));
    await expect(differ).rejects.toMatchObject({ name: 'InternalError', code: 'ERR_COLL_MISMATCH' });
    await expect(differ).rejects.toMatchObject({ code: 'ERR_COLL_MISMATCH', rank: 1 });
    const lonely = two.run(({ replicaIdInSyncGroup: id }) => (id === 1 ? variable(1) : undefined));
    await expect(lonely).rejects.toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT', rank: 1 });
    await expect(lonely).rejects.toThrow(/replica 1 creates a variable that replica 0 has not created/);
  });

  it('is created for all replicas in a merge call', async () => {
    const made = await two.run((replica) => replica.mergeCall(() => variable([3])));
    expect(held(made as unknown as MirroredVariable)).toEqual([[3], [3]]);
  });
});

describe('a variable created without a strategy', () => {
  it('is a plain variable that is changed directly', async () => {
    const made = variable([1, 2], { name: 'alone', aggregation: 'sum', synchronization: 'none' });
    expect(made).toBeInstanceOf(LocalVariable);
    expect(made).not.toBeInstanceOf(DistributedVariable);
    expect(made).toMatchObject({ name: 'alone', device: canonicalize('cpu:0'), synchronization: 'NONE' });
    await made.assign([3, 4]);
    expect(toNumbers(made.assignAddSync([1, 1]).read())).toEqual([4, 5]);
    await two.run(() => made.assignSub([1, 1]));
    expect(toNumbers(made.read())).toEqual([2, 3]);
    expect(getStrategy().extended.variableCreatedInScope(made)).toBe(true);
  });

  it('stays on the device of its value', () => {
    expect(variable(tensor([1], { device: 'cpu:3' }))).toMatchObject({ device: 'cpu:3' });
    expect(() => variable([1], { aggregation: 'most' as never })).toThrow(/aggregation must be one of/);
  });

  it('can be a value and a destination in calls of a strategy', async () => {
    const made = variable(tensor([4], { device: 'cpu:1' }));
    expect(await two.extended.reduceTo('mean', made, 'cpu:0')).toBe(made);
    expect(await two.extended.broadcastTo(Float32Array.of(1), made)).toMatchObject({ device: canonicalize('cpu:1') });
    expect(toNumbers(asTensor(made))).toEqual([4]);
  });
});

it('VariableSynchronization and VariableAggregation have members whose values are their names', () => {
  for (const members of [VariableAggregation, VariableSynchronization])
    for (const [name, value] of Object.entries(members)) expect(value).toBe(name);
});

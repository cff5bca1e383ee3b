import { Mirrored, PerReplica, type Tensor, tensor, toNumbers } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { everywhere, held, mirrored, onRead } from '../../test/variables.js';
import {
  getReplicaContext,
  getStrategy,
  inCrossReplicaContext,
  type LocalVariable,
  updateRegroup,
  variable,
} from '../index.js';
import { requireUpdate } from '../variables/update-options.js';

describe.each([1, 2, 3])('extended.update on %i replicas', (replicas) => {
  const strategy = strategyOf(replicas);
  const { extended } = strategy;
  const ids = Array.from({ length: replicas }, (_, id) => id);
  const perReplica = new PerReplica(ids.map((id) => Float32Array.of(id)));

  it('calls the function for each component, with that component of its arguments', async () => {
    const made = mirrored(strategy, [0]);
    const calls: unknown[] = [];
    const fn = (component: LocalVariable, x: Float32Array, y: number, named: { z: Float32Array }) => {
      calls.push([component.name, x, y, named.z]);
      expect([getStrategy(), inCrossReplicaContext(), getReplicaContext()]).toEqual([strategy, true, undefined]);
      return component.assignAdd(x);
    };
    const mirror = new Mirrored(ids.map((id) => Float32Array.of(10 * id)));
    await extended.update(made, fn, { args: [perReplica, 5], kwargs: { z: mirror } });
    expect(calls).toEqual(ids.map((id) => [made.values[id]?.name, Float32Array.of(id), 5, Float32Array.of(10 * id)]));
    expect(held(made)).toEqual(ids.map((id) => [id]));
  });

  it('groups results: the variable, Mirrored tensors, or nothing', async () => {
    const made = mirrored(strategy, [1]);
    expect(await extended.update(made, (component: LocalVariable) => component.assign([2]))).toBe(made);
    const tensors = await extended.update(made, (component: LocalVariable) => component.read());
    if (replicas === 1) expect(tensors).toMatchObject({ data: Float32Array.of(2) });
    else {
      expect(tensors).toBeInstanceOf(Mirrored);
      expect((tensors as Mirrored<Tensor>).devices).toEqual(made.devices);
    }
    const objects = await extended.update(made, (component: LocalVariable) => ({
      name: new Date(component.name.length),
    }));
    expect(objects).toEqual(replicas === 1 ? { name: new Date(1) } : { name: undefined });
    expect(await extended.update(made, () => 'same')).toBe('same');
  });

  it('returns a list of the results with group: false', async () => {
    const made = mirrored(strategy, [1]);
    const update = (fn: (component: LocalVariable) => unknown) => extended.update(made, fn, { group: false });
    expect(await update((component) => component.name)).toEqual(made.values.map(({ name }) => name));
    expect(await update((component) => [component.assignSync([3]), 'same'])).toEqual([made.values, ['same']]);
  });

  it('lets the function use the variable in place of the component', async () => {
    const made = mirrored(strategy, [0], { aggregation: 'mean' });
    await extended.update(
      made,
      async (component: LocalVariable, x: Float32Array) => {
        expect(made.get()).toBe(component);
        made.assignSync(x);
        await made.assignAdd([1]);
        expect(toNumbers(made.read())).toEqual(toNumbers(component.read()));
      },
      { args: [perReplica] },
    );
    expect(held(made)).toEqual(ids.map((id) => [id + 1]));
    const count = onRead(strategy, [0], { aggregation: 'sum' });
    await extended.update(count, () => count.assignAdd([2]));
    expect(held(count)).toEqual(everywhere(replicas, [2]));
  });

  it('inside replicas updates all components, each with the arguments of its replica', async () => {
    const made = mirrored(strategy, [0]);
    const results = await strategy.run(async ({ replicaIdInSyncGroup: id }) => {
      const add = (component: LocalVariable, x: Float32Array, { y }: { y: number }) => {
        component.assignAddSync(x);
        return tensor([y]);
      };
      const options = { args: [Float32Array.of(id + 1)], kwargs: { y: id } };
      const grouped = await extended.update(made, add, options);
      return [grouped, await extended.update(made, (component: LocalVariable) => component.name, { group: false })];
    });
    expect(held(made)).toEqual(ids.map((id) => [id + 1]));
    for (const [id, [grouped, names]] of (
      strategy.experimentalLocalResults(results) as [Tensor, unknown][]
    ).entries()) {
      expect(toNumbers(grouped)).toEqual([id]);
      expect(names).toEqual(made.values.map(({ name }) => name));
    }
  });

  it('stops at an error that the function throws', async () => {
    const made = mirrored(strategy, [0]);
    const failing = (component: LocalVariable) => {
      component.assignSync([1]);
      throw new RangeError('in the update');
    };
    await expect(extended.update(made, failing)).rejects.toThrow('in the update');
    expect(held(made)).toEqual([[1], ...everywhere(replicas - 1, [0])]);
  });
});

describe('extended', () => {
  const two = strategyOf(2);
  const other = strategyOf(2);
  const made = mirrored(two, [1]);
  const alone = variable([1]);

  it.each([
    ['update', (value: unknown) => two.extended.update(value, () => 0)],
    ['colocateVarsWith', async (value: unknown) => two.extended.colocateVarsWith(value, () => 0)],
  ] as const)('%s accepts only variables of its strategy', async (method, call) => {
    for (const value of [alone, made.primary, mirrored(other, [1]), new Mirrored([1, 1]), 5, undefined])
      await expect(call(value)).rejects.toMatchObject({
        name: 'ValueError',
        code: 'ERR_COLL_VALUE',
        operation: method,
        message: expect.stringMatching(`^${method}: `),
      });
  });

  it.each<readonly [string, unknown, object]>([
    ['a value that is not a function', 5, {}],
    ['arguments that are not a list', () => 0, { args: 5 }],
    ['named arguments that are not an object', () => 0, { kwargs: [] }],
  ])('update refuses %s', async (_, fn, options) => {
    const refused = expect.objectContaining({ name: 'ValueError', message: expect.stringContaining('update takes') });
    await expect(two.extended.update(made, fn as never, options)).rejects.toEqual(refused);
    await expect(two.run(() => two.extended.update(made, fn as never, options))).rejects.toMatchObject({
      name: 'ValueError',
    });
  });

  it('update is refused if replicas update different variables', async () => {
    const second = mirrored(two, [0]);
    const update = two.run(({ replicaIdInSyncGroup }) =>
      two.extended.update(replicaIdInSyncGroup === 0 ? made : second, () => 0),
    );
    await expect(update).rejects.toMatchObject({
      code: 'ERR_COLL_MISMATCH',
      message: expect.stringContaining('replicas update different variables'),
    });
  });

  it('update is refused while another strategy is current', async () => {
    await expect(other.scope(() => two.extended.update(made, () => 0))).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_CONTEXT',
    });
    await expect(other.run(() => two.extended.update(made, () => 0))).rejects.toThrow(/Mixing different strategies/);
  });

  it('recognises the variables of its strategy, and returns the variable of a component', () => {
    const { extended } = two;
    expect([made, made.primary, ...made.values].map((value) => extended.variableCreatedInScope(value))).toEqual(
      new Array(4).fill(true),
    );
    const foreign = [alone, mirrored(other, [1]), 5, undefined, new Mirrored([1, 1])];
    expect(foreign.map((value) => extended.variableCreatedInScope(value))).toEqual(new Array(5).fill(false));
    expect(made.values.map((component) => extended.valueContainer(component))).toEqual([made, made]);
    for (const value of [made, alone, 5, undefined]) expect(extended.valueContainer(value)).toBe(value);
    const byDefault = [alone, made, made.primary, 5].map((value) =>
      getStrategy().extended.variableCreatedInScope(value),
    );
    expect(byDefault).toEqual([true, false, false, false]);
  });

  it('colocateVarsWith creates a variable on the devices of another variable', () => {
    const beside = two.extended.colocateVarsWith(made, () => two.scope(() => variable([2], { name: 'beside' })));
    expect(beside).toMatchObject({ devices: made.devices, name: 'beside' });
    {
      using _scope = two.extended.colocateVarsWith(made);
      expect(variable([3])).toMatchObject({ devices: made.devices });
    }
    expect(getStrategy()).not.toBe(two);
  });

  it('readVar reads variables and nothing else', async () => {
    expect(await two.extended.readVar(made)).toMatchObject({ data: Float32Array.of(1) });
    expect(await getStrategy().extended.readVar(alone)).toMatchObject({ data: Float64Array.of(1) });
    for (const value of [5, new PerReplica([1, 2])])
      await expect(two.extended.readVar(value)).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
    await expect(two.run(() => two.extended.readVar(made))).rejects.toThrow(/requires being in cross-replica context/);
  });

  it('returns the flags that TensorFlow programs read', () => {
    const { extended } = two;
    expect(extended.nonSlotDevices([made])).toEqual(extended.workerDevices);
    expect(extended).toMatchObject({
      experimentalRequireStaticShapes: false,
      shouldCheckpoint: true,
      shouldSaveSummary: true,
      experimentalBetweenGraph: false,
      experimentalShouldInit: true,
    });
    expect(two.clusterResolver).toBeUndefined();
  });

  it('updateRegroup groups the results of updates', () => {
    const [a, b] = [tensor([1]), tensor([2])];
    expect(updateRegroup(two, [a, b], true)).toEqual(new Mirrored([a, b]));
    expect(updateRegroup(two, [a, b], false)).toEqual([a, b]);
    expect(
      updateRegroup(
        two,
        [
          { x: a, y: {} },
          { x: b, y: {} },
        ],
        true,
      ),
    ).toEqual({ x: new Mirrored([a, b]), y: {} });
    expect(updateRegroup(two, [() => 1, () => 2], true)).toBeUndefined();
  });

  it('update calls the function once under the default strategy', async () => {
    const { extended } = getStrategy();
    const fn = (own: LocalVariable, x: number, { y }: { y: number }) => [own, x, y];
    expect(await extended.update(alone, fn, { args: [2], kwargs: { y: 3 } })).toEqual([alone, 2, 3]);
    expect(await extended.update(alone, fn, { args: [2], kwargs: { y: 3 }, group: false })).toEqual([
      [alone],
      [2],
      [3],
    ]);
  });
});

describe('requireUpdate', () => {
  const fn = () => 1;
  const named = { rate: 1 };

  it('accepts a function with a list and an object', () => {
    expect(requireUpdate(fn, {})).toBeUndefined();
    expect(requireUpdate(fn, { args: [1], kwargs: named, group: false })).toBeUndefined();
  });

  it.each<[unknown, object, string]>([
    [5, {}, '5, []'],
    [fn, { args: 6 }, 'function fn, 6'],
    [5, { args: [1], kwargs: named }, '5, [1], an object (Object)'],
    [fn, { args: [1], kwargs: 7 }, 'function fn, [1], 7'],
  ])('quotes the invalid arguments: %j, %j', (given, options, message) => {
    const refused = {
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'update' },
      message: `update takes a function, a list of args and an object of kwargs, got ${message}`,
    };
    expect(() => requireUpdate(given, options)).toThrow(expect.objectContaining(refused));
  });
});

describe('an update', () => {
  const strategy = strategyOf(2);
  const made = mirrored(strategy, [1]);

  it('calls the function with only the component if there are no arguments', async () => {
    const counts: number[] = [];
    const note = (...args: unknown[]) => void counts.push(args.length);
    await strategy.extended.update(made, note);
    await strategy.run(() => strategy.extended.update(made, note));
    expect(counts).toEqual([1, 1, 1, 1]);
  });

  it('has no grouped result unless the function returns tensors for all components', async () => {
    let calls = 0;
    const mixed = () => (calls++ === 0 ? tensor([1]) : 'text');
    expect(await strategy.extended.update(made, mixed)).toBeUndefined();
  });

  it('is refused if replicas update different variables', async () => {
    const other = mirrored(strategy, [2]);
    const updating = strategy.run(({ replicaIdInSyncGroup: id }) =>
      strategy.extended.update(id === 0 ? made : other, () => 1),
    );
    await expect(updating).rejects.toMatchObject({
      ...{ name: 'InternalError', code: 'ERR_COLL_MISMATCH', operation: 'update' },
      message: expect.stringContaining(
        'replicas update different variables: replica 0 updates "w"; all replicas must update the same variable',
      ),
    });
  });

  it.each([5, undefined, null, {}])('needs a strategy as the first argument of updateRegroup, not %j', (odd) => {
    expect(() => updateRegroup(odd as never, [1], true)).toThrow(
      expect.objectContaining({
        ...{ name: 'ValueError', code: 'ERR_COLL_VALUE' },
        message: expect.stringMatching(/^updateRegroup: the first argument must be a strategy, got /),
      }),
    );
  });
});

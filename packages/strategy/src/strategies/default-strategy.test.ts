import { DistributedValues, IndexedSlices, PerReplica, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { getReplicaContext, getStrategy, type ReplicaContext } from '../index.js';

const strategy = getStrategy();
const { extended } = strategy;

describe('the default strategy', () => {
  it('has no devices and no ops, and reports what is missing', async () => {
    const messageFor = (what: string) => `the default strategy does not support ${what}; enter the scope of a strategy`;
    expect(() => extended.workerDevices).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_CONTEXT',
        message: expect.stringContaining(messageFor('workerDevices')),
      }),
    );
    await expect(extended.replicaOps()).rejects.toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT' },
      message: expect.stringContaining(messageFor('crossDeviceOps')),
    });
    expect(extended.defaultDevice).toBe('cpu:0');
  });

  it('returns structures without distributed values unchanged', async () => {
    const value = { x: [1, 2] };
    expect(strategy.experimentalLocalResults(value)[0]).toBe(value);
    expect(await extended.reduceTo('SUM', value, 'cpu:0')).toBe(value);
    expect(strategy.experimentalLocalResults({ x: new PerReplica([1]) })).toEqual([{ x: 1 }]);
    const several = new PerReplica([1, 2]);
    expect(strategy.experimentalLocalResults([several])).toEqual([[several]]);
  });

  it('runs functions, but no modules in threads', async () => {
    const module = new URL('file:///replica.js');
    await expect(strategy.run(module)).rejects.toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT' });
    await expect(strategy.run('replica.js' as never)).rejects.toMatchObject({ name: 'ValueError' });
  });

  it('updates a variable with exactly the given arguments', async () => {
    const variable = extended.createVariable(1);
    const seen: unknown[][] = [];
    const note = (...args: unknown[]) => {
      seen.push(args);
      return 7;
    };
    expect(await extended.update(variable, note)).toBe(7);
    await extended.update(variable, note, { args: [2], kwargs: { rate: 3 } });
    expect(seen).toEqual([[variable], [variable, 2, { rate: 3 }]]);
    expect(await extended.update(variable, note, { group: false })).toEqual([7]);
    expect(variable.read().device).toBe('/job:localhost/replica:0/task:0/device:CPU:0');
    expect(extended.variableCreatedInScope(variable)).toBe(true);
    expect(extended.valueContainer(variable)).not.toBeInstanceOf(DistributedValues);
  });

  it('refuses to gather sparse values', async () => {
    const slices = new IndexedSlices(tensor(Float32Array.of(1)), Int32Array.of(0), [4]);
    const refused = { name: 'NotImplementedError', operation: 'gather' };
    await expect(extended.gatherTo(slices, 'cpu:0', 0)).rejects.toMatchObject(refused);
  });

  it('validates input options, although it uses none', () => {
    const wrong = { globalBatchSize: 0 };
    expect(() => strategy.experimentalDistributeDataset([[1]], wrong)).toThrow('globalBatchSize must be');
    expect(() => strategy.distributeDatasetsFromFunction(() => [[1]], wrong)).toThrow('globalBatchSize must be');
  });
});

it('allocate() returns memory for the default replica', () => {
  const replica = getReplicaContext() as ReplicaContext;
  expect(replica.allocate('int16', [2, 3])).toMatchObject({ dtype: 'int16', shape: [2, 3], data: new Int16Array(6) });
  expect(replica.canBlock).toBe(true);
});

import { PerReplica, setLogSink, tensor } from '@coll/core';
import { afterEach, describe, expect, it } from 'vitest';
import { cpu } from '../../test/strategies.js';
import { type DatasetFunction, InputContext, type InputOptionsInit, MirroredStrategy } from '../index.js';
import { distributeDatasetsFromFunction } from './datasets-from-function.js';

const three = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1', 'cpu:2'] });

async function collect<Element>(make: DatasetFunction<Element>, options?: InputOptionsInit): Promise<unknown[]> {
  const steps: unknown[] = [];
  for await (const step of three.distributeDatasetsFromFunction(make, options)) steps.push(step);
  return steps;
}

describe('distributeDatasetsFromFunction', () => {
  it('passes one element per step to each replica unchanged', async () => {
    const element = (number: number) => ({ x: Float32Array.of(number, number), y: [number] });
    expect(await collect(() => [1, 2, 3, 4, 5, 6].map(element))).toEqual([
      { x: new PerReplica([1, 2, 3].map((n) => element(n).x)), y: new PerReplica([[1], [2], [3]]) },
      { x: new PerReplica([4, 5, 6].map((n) => element(n).x)), y: new PerReplica([[4], [5], [6]]) },
    ]);
  });

  it('calls the function once per input pipeline, not once per epoch', async () => {
    const contexts: InputContext[] = [];
    const dataset = three.distributeDatasetsFromFunction((context) => {
      contexts.push(context);
      return [[1], [2], [3]];
    });
    for (let epoch = 0; epoch < 2; epoch++) {
      let steps = 0;
      for await (const _ of dataset) steps += 1;
      expect(steps).toBe(1);
    }
    expect(contexts.map((context) => ({ ...context }))).toEqual([
      { numInputPipelines: 1, inputPipelineId: 0, numReplicasInSync: 3 },
    ]);
    expect(contexts[0]?.getPerReplicaBatchSize(6)).toBe(2);
  });

  it('gives replicas without an element an empty batch in the last step', async () => {
    const x = (number: number) => tensor(Float32Array.of(number, number), { shape: [1, 2] });
    const steps = (await collect(() => [1, 2, 3, 4].map((number) => ({ x: x(number), names: ['a'] })))) as {
      x: PerReplica;
      names: PerReplica;
    }[];
    expect(steps).toHaveLength(2);
    expect(steps[1]?.names.values).toEqual([['a'], [], []]);
    expect(steps[1]?.x.values).toMatchObject([
      { shape: [1, 2], data: Float32Array.of(4, 4) },
      { shape: [0, 2], data: new Float32Array(0) },
      { shape: [0, 2], data: new Float32Array(0) },
    ]);
    expect(steps[1]?.x.devices).toEqual(three.extended.workerDevices);
  });

  it('supports scalars if no replica runs out of them', async () => {
    expect(await collect(() => [1, 2, 3])).toEqual([new PerReplica([1, 2, 3])]);
    await expect(collect(() => [1, 2, 3, 4])).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringMatching(/too few elements for all replicas, and a scalar/),
    });
  });

  it('supports one dataset per replica, of different lengths', async () => {
    const contexts: object[] = [];
    const make = (context: InputContext) => {
      contexts.push({ ...context });
      const { inputPipelineId: id } = context;
      return Array.from({ length: id + 1 }, (_, step) => [10 * id + step]);
    };
    expect(await collect(make, { experimentalReplicationMode: 'PER_REPLICA' })).toEqual([
      new PerReplica([[0], [10], [20]]),
      new PerReplica([[], [11], [21]]),
      new PerReplica([[], [], [22]]),
    ]);
    expect(contexts).toEqual(
      [0, 1, 2].map((inputPipelineId) => ({ numInputPipelines: 3, inputPipelineId, numReplicasInSync: 3 })),
    );
  });

  it('numbers pipelines worker by worker if each replica has one', () => {
    const contexts: object[] = [];
    const context = new InputContext({ numInputPipelines: 3, inputPipelineId: 2, numReplicasInSync: 6 });
    const make = (own: InputContext) => {
      contexts.push({ ...own });
      return [[1]];
    };
    distributeDatasetsFromFunction(make, context, cpu(2), { experimentalReplicationMode: 'PER_REPLICA' });
    expect(contexts).toEqual(
      [4, 5].map((inputPipelineId) => ({ numInputPipelines: 6, inputPipelineId, numReplicasInSync: 6 })),
    );
  });

  it('accepts promises of datasets', async () => {
    async function* elements() {
      yield [1];
      yield [2];
    }
    expect(await collect(async () => elements)).toEqual([new PerReplica([[1], [2], []])]);
  });

  it('refuses values that are not datasets, at once or when a promise resolves', async () => {
    expect(() => three.distributeDatasetsFromFunction(() => 3 as never)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
    expect(() => three.distributeDatasetsFromFunction(() => null as never)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
    expect(() => three.distributeDatasetsFromFunction([[1]] as never)).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_VALUE',
        message: expect.stringContaining('takes a function that returns a dataset'),
      }),
    );
    await expect(collect(async () => 3 as never)).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
    await expect(collect(() => Promise.reject(new Error('torn')))).rejects.toThrow('torn');
  });

  it('closes all datasets if one fails, elements differ, or the loop ends early', async () => {
    let closed = 0;
    const make =
      (break_: (id: number) => unknown) =>
      ({ inputPipelineId: id }: InputContext) =>
        async function* elements() {
          try {
            yield { x: [1] };
            yield break_(id) as { x: number[] };
          } finally {
            closed += 1;
          }
        };
    const options = { experimentalReplicationMode: 'PER_REPLICA' } as const;
    const failing = make((id) => (id === 1 ? Promise.reject(new Error('torn')) : { x: [2] }));
    await expect(collect(failing, options)).rejects.toThrow('torn');
    expect(closed).toBe(3);
    const differing = make((id) => (id === 1 ? { y: [2] } : { x: [2] }));
    await expect(collect(differing, options)).rejects.toMatchObject({
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', cause: expect.any(Error) },
      message: 'the elements of one step differ in structure; all replicas must get elements of the same structure',
    });
    expect(closed).toBe(6);
    for await (const _ of three.distributeDatasetsFromFunction(
      make(() => ({ x: [2] })),
      options,
    ))
      break;
    expect(closed).toBe(9);
  });
});

describe('experimentalDistributeDatasetsFromFunction', () => {
  afterEach(() => setLogSink());

  it('does the same as distributeDatasetsFromFunction, and warns once', async () => {
    const lines: string[] = [];
    setLogSink((_, message) => lines.push(message));
    for (let time = 0; time < 2; time++) {
      const dataset = three.experimentalDistributeDatasetsFromFunction(() => [[1], [2], [3]]);
      for await (const step of dataset) expect(step).toEqual(new PerReplica([[1], [2], [3]]));
    }
    expect(lines).toEqual([
      'experimentalDistributeDatasetsFromFunction is deprecated; use distributeDatasetsFromFunction instead',
    ]);
  });
});

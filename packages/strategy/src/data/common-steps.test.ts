import { type PerReplica, type Tensor, tensor } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { collect } from '../../test/batches.js';
import { deferred } from '../../test/deferred.js';
import { readersHere } from '../../test/max-over-readers.js';
import { distributeDatasetsFromFunction } from './datasets-from-function.js';
import { distributeDataset } from './distribute-dataset.js';
import type { DistributedDataset } from './distributed-dataset.js';
import { InputContext } from './input-context.js';
import type { InputOptionsInit } from './input-options.js';

/** A test double of a TensorFlow.js tensor. */
class TfTensor {
  static open = 0;
  readonly dataId = {};
  readonly shape: readonly number[];

  constructor(size: number) {
    this.shape = [size];
    TfTensor.open += 1;
  }

  slice(_begin: number, size: number): TfTensor {
    return new TfTensor(size);
  }

  dispose(): void {
    TfTensor.open -= 1;
  }
}

const contextsOf = (workers: number) =>
  Array.from(
    { length: workers },
    (_, inputPipelineId) =>
      new InputContext({ numInputPipelines: workers, inputPipelineId, numReplicasInSync: workers }),
  );

/** The datasets of workers with one replica each, whose sources are these. */
function datasetsOf(sources: readonly (() => unknown)[], options?: InputOptionsInit) {
  const { readers, meetings } = readersHere(sources.length);
  const contexts = contextsOf(sources.length);
  const datasets = sources.map((source, worker) =>
    distributeDatasetsFromFunction(
      () => source as never,
      contexts[worker] as InputContext,
      ['cpu:0'],
      options,
      readers[worker],
    ),
  );
  return { datasets: datasets as unknown as DistributedDataset<PerReplica<unknown>>[], meetings };
}

const read = async (datasets: readonly DistributedDataset<PerReplica<unknown>>[]) =>
  Promise.all(datasets.map(async (dataset) => (await collect(dataset)).map(({ values }) => values[0])));

const errorsOf = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((outcome) => (outcome.status === 'rejected' ? outcome.reason : undefined));

const numbers = (...all: readonly number[]) => all.map((number) => Float32Array.of(number));

describe('workers with unequal numbers of steps', () => {
  it('end each epoch together, with empty parts for those that have ended', async () => {
    const { datasets } = datasetsOf([() => numbers(1, 2, 3), () => numbers(4)]);
    const none = new Float32Array(0);
    const steps = [numbers(1, 2, 3), [Float32Array.of(4), none, none]];
    expect(await read(datasets)).toEqual(steps);
    expect(await read(datasets)).toEqual(steps);
  });

  it('meet once in each step and once at the end', async () => {
    const { datasets, meetings } = datasetsOf([() => numbers(1, 2, 3), () => numbers(4)]);
    await read(datasets);
    expect(meetings()).toBe(4);
  });

  it.each([
    ['typed arrays', Int16Array.of(1), Int16Array.of()],
    ['lists', ['a'], []],
    ['tensors', tensor(Float64Array.of(1, 2, 3), { shape: [1, 3] }), tensor(new Float64Array(0), { shape: [0, 3] })],
    [
      'structures',
      { x: [tensor(Uint16Array.of(1), { dtype: 'float16' })], 'y z': BigInt64Array.of(1n) },
      { x: [tensor(Uint16Array.of(), { dtype: 'float16' })], 'y z': BigInt64Array.of() },
    ],
  ])('get parts of the structure of other workers if they never have an element: %s', async (_, element, empty) => {
    const { datasets } = datasetsOf([() => [], () => [element, element], () => []], {
      experimentalFetchToDevice: false,
    });
    const [first, , last] = await Promise.all(datasets.map(collect));
    const valuesOf = (step: unknown): unknown =>
      JSON.parse(JSON.stringify(step, (_key, value) => (ArrayBuffer.isView(value) ? value.constructor.name : value)));
    const { datasets: likeEmpty } = datasetsOf([() => [empty, empty]], { experimentalFetchToDevice: false });
    const [expected] = await Promise.all(likeEmpty.map(collect));
    expect(valuesOf(first)).toEqual(valuesOf(expected));
    expect(valuesOf(last)).toEqual(valuesOf(expected));
  });

  it('all throw an error that names a worker for which no empty part can be made', async () => {
    const scalar = datasetsOf([() => [1, 2], () => [1]]).datasets;
    const tf = new TfTensor(1);
    const foreign = datasetsOf([() => [tf, tf], () => []]).datasets;
    for (const error of await errorsOf(scalar.map(collect))) {
      expect(error).toMatchObject({
        ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'input' },
        message:
          'worker 1 has no element for step 2 and needs an empty one: a scalar cannot be empty; batch the dataset',
      });
    }
    for (const error of await errorsOf(foreign.map(collect)))
      expect(error).toMatchObject({ message: expect.stringMatching(/^worker 1 .* step 1 .*TensorFlow.js/) });
  });

  it('need no empty parts if all end together', async () => {
    const { datasets, meetings } = datasetsOf([() => [1, 2], () => [3, 4]]);
    expect(await read(datasets)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(meetings()).toBe(3);
  });

  it('free the empty TensorFlow.js tensor from which empty parts are made', async () => {
    const before = TfTensor.open;
    const sources = [2, 1].map((count) => Array.from({ length: count }, () => new TfTensor(2)));
    const { datasets } = datasetsOf(sources.map((source) => () => source));
    const dispose = async (dataset: DistributedDataset<PerReplica<unknown>>) => {
      for await (const { values } of dataset) (values[0] as TfTensor).dispose();
    };
    await Promise.all(datasets.map(dispose));
    expect(TfTensor.open).toBe(before);
  });
});

describe('workers that read in step', () => {
  it('all throw if a source fails, with its message', async () => {
    const fails = function* () {
      yield Float32Array.of(1);
      throw new RangeError('no such file');
    };
    const [first, last] = await errorsOf(datasetsOf([() => numbers(1, 2, 3), fails]).datasets.map(collect));
    expect(last).toMatchObject({ name: 'RangeError', message: 'no such file' });
    expect(first).toMatchObject({
      ...{ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 1 },
      message: 'worker 1 cannot read its step 2: no such file',
    });
  });

  it('all throw if one of them has left an epoch early', async () => {
    const { datasets } = datasetsOf([() => numbers(1, 2, 3), () => numbers(4, 5, 6)]);
    const [first, last] = datasets as [DistributedDataset<unknown>, DistributedDataset<unknown>];
    const leaves = async () => {
      for await (const _ of first) break;
      return collect(first);
    };
    const errors = await errorsOf([leaves(), collect(last)]);
    const messages = [
      /^worker 0 requests step 1 of reading 2, another worker requests step 2 of reading 1; /,
      /^worker 1 requests step 2 of reading 1, another worker requests step 1 of reading 2; /,
    ];
    errors.forEach((error, worker) => {
      expect(error).toMatchObject({ name: 'InternalError', code: 'ERR_COLL_MISMATCH' });
      expect(error).toMatchObject({ message: expect.stringMatching(messages[worker] as RegExp) });
    });
  });

  it('may request steps of two datasets at once, though sources differ in speed', async () => {
    const { readers } = readersHere(2);
    const gates = [deferred<void>(), deferred<void>(), deferred<void>(), deferred<void>()];
    const pairs = contextsOf(2).map((context, worker) =>
      ['a', 'b'].map((name, index) => {
        const source = async function* () {
          await gates[2 * worker + index]?.promise;
          yield [name];
        };
        return distributeDatasetsFromFunction(() => source, context, ['cpu:0'], {}, readers[worker]);
      }),
    );
    const both = pairs.map((pair) => Promise.all(pair.map(collect)));
    // Worker 0 reads dataset a first, worker 1 reads dataset b first.
    for (const gate of [0, 3, 1, 2]) gates[gate]?.resolve();
    for (const [a, b] of await Promise.all(both)) {
      expect(a?.map(({ values }) => values)).toEqual([[['a']]]);
      expect(b?.map(({ values }) => values)).toEqual([[['b']]]);
    }
  });
});

describe('equalSteps', () => {
  it('lets workers meet only at the end of an epoch', async () => {
    const { datasets, meetings } = datasetsOf([() => numbers(1, 2), () => numbers(3, 4)], { equalSteps: true });
    expect(await read(datasets)).toEqual([numbers(1, 2), numbers(3, 4)]);
    expect(meetings()).toBe(1);
    expect(await read(datasets)).toEqual([numbers(1, 2), numbers(3, 4)]);
    expect(meetings()).toBe(2);
  });

  it('makes unequal numbers of steps an error on all workers', async () => {
    const { datasets } = datasetsOf([() => numbers(1, 2), () => numbers(3)], { equalSteps: true });
    const errors = await errorsOf(datasets.map(collect));
    const messages = [2, 1].map(
      (own, worker) =>
        `worker ${worker} has ${own} steps in this epoch, another worker has ${3 - own}: omit equalSteps`,
    );
    expect(errors.map(({ message }) => message)).toEqual(messages);
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_COLL_MISMATCH', operation: 'input' });
  });
});

describe('a dataset of files', () => {
  it.each([
    ['FILE', [4, 4, 4], { autoShardPolicy: 'AUTO' }],
    ['FILE with unequal files', [2, 8, 6, 2], { autoShardPolicy: 'FILE' }],
    ['OFF', [4, 2], { autoShardPolicy: 'OFF' }],
  ] as const)('has equally many steps on both workers, and loses no item: %s', async (_, lengths, options) => {
    const { readers } = readersHere(2);
    const files = lengths.map((_length, file) => file);
    const items = (file: number) => Array.from({ length: lengths[file] as number }, (_item, at) => 100 * file + at);
    const read = (own: readonly number[]) =>
      own.flatMap((file) => {
        const all = items(file);
        return all.flatMap((_item, at) => (at % 2 === 0 ? [Int32Array.from(all.slice(at, at + 2))] : []));
      });
    const steps = await Promise.all(
      contextsOf(2).map(async (context, worker) => {
        const dataset = distributeDataset<Int32Array>({ files, read }, context, ['cpu:0'], options, readers[worker]);
        return (await collect(dataset)).map((step) => step.values[0] as Int32Array);
      }),
    );
    expect(steps[0]?.length).toBe(steps[1]?.length);
    const whole = files.flatMap(items).toSorted((a, b) => a - b);
    const got = steps.map((own) => own.flatMap((part) => [...part]).toSorted((a, b) => a - b));
    expect(options.autoShardPolicy === 'OFF' ? got : [got.flat().toSorted((a, b) => a - b)]).toEqual(
      options.autoShardPolicy === 'OFF' ? [whole, whole] : [whole],
    );
  });
});

it('a tensor keeps the dtype, shape and device of its replica in empty parts', async () => {
  const x = tensor(Float32Array.of(1, 2, 3, 4), { shape: [2, 2] });
  const { datasets } = datasetsOf([() => [x, x], () => [x]]);
  const [, steps] = await Promise.all(datasets.map(collect));
  const [whole, empty] = (steps as PerReplica<Tensor>[]).map(({ values }) => values[0]) as [Tensor, Tensor];
  expect(empty).toEqual({ ...whole, data: new Float32Array(0), shape: [0, 2] });
});

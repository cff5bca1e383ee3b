import type { Tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { unisonContext } from '../test/unison-context.ts';
import { type ShareOptions, shareOf } from './share-of.js';
import { rowsOf } from './uneven-shares.js';

// Another file may have left another backend, and the tables of cases below already make tensors.
tf.enableProdMode();
await tf.setBackend('cpu');

/** Replicas that pass the same data. */
const replicas = (count: number): ReplicaContext[] =>
  Array.from({ length: count }, (_, replicaIdInSyncGroup) => ({
    ...unisonContext().context,
    numReplicasInSync: count,
    replicaIdInSyncGroup,
  }));

/** A replica whose data differs from that of another one. */
const oddReplica = (): ReplicaContext =>
  ({
    ...unisonContext().context,
    allReduceSync: (_: string, [extremes]: [Float64Array]) => extremes.fill(1),
  }) as unknown as ReplicaContext;

const shares = <Data extends object>(data: Data, count: number, options?: ShareOptions) =>
  replicas(count).map((context) => shareOf(tf, data, context, options));

describe('the share of a tensor', () => {
  it('has every N-th row, and repeats the last one on replicas that have one less', () => {
    const data = tf.tensor2d([0, 0, 1, 10, 2, 20, 3, 30, 4, 40], [5, 2]);
    const parts = shares(data, 3);
    expect(parts.map((part) => part.arraySync())).toEqual([
      [
        [0, 0],
        [3, 30],
      ],
      [
        [1, 10],
        [4, 40],
      ],
      [
        [2, 20],
        [2, 20],
      ],
    ]);
    expect(parts.map(rowsOf)).toEqual([2, 2, 1]);
    expect(data.isDisposed).toBe(false);
  });

  it('leaves the last rows out if the remainder is dropped', () => {
    const parts = shares(tf.tensor1d([0, 1, 2, 3, 4]), 3, { remainder: 'drop' });
    expect(parts.map((part) => part.arraySync())).toEqual([[0], [1], [2]]);
    expect(parts.map(rowsOf)).toEqual([1, 1, 1]);
  });

  it('has a row of weight 0 on a replica without a row of its own', () => {
    const parts = shares(tf.tensor1d([5, 6]), 3);
    expect(parts.map((part) => part.arraySync())).toEqual([[5], [6], [5]]);
    expect(parts.map(rowsOf)).toEqual([1, 1, 0]);
  });

  it('belongs to the caller of a single replica, too', () => {
    const data = tf.tensor1d([1, 2]);
    const [part] = shares(data, 1) as [tf.Tensor1D];
    data.dispose();
    expect(Array.from(part.dataSync())).toEqual([1, 2]);
  });

  it.each(['float32', 'int32', 'bool', 'string'] as const)('keeps the dtype %s, and no other tensors', (dtype) => {
    const values = dtype === 'string' ? ['a', 'b', 'c', 'd'] : [0, 1, 1, 0];
    const data = tf.tensor(values, [4], dtype);
    const before = tf.memory().numTensors;
    const [first, second] = shares(data, 2) as [tf.Tensor, tf.Tensor];
    expect([first.dtype, Array.from(first.dataSync()), Array.from(second.dataSync())].flat()).toEqual([
      ...[dtype, values[0], values[2], values[1], values[3]],
    ]);
    tf.dispose([first, second]);
    expect(tf.memory().numTensors).toBe(before);
  });
});

describe('the share of other data', () => {
  it('is made of the rows of typed arrays, lists, lists of tensors and objects', () => {
    const data = {
      labels: ['a', 'b', 'c'],
      pairs: [
        [0, 0],
        [1, 1],
        [2, 2],
      ],
      numbers: Uint8Array.of(7, 8, 9),
      inputs: [tf.tensor1d([0, 1, 2]), tf.tensor2d([0, 1, 2], [3, 1])],
    };
    const [, second] = shares(data, 2);
    expect(second).toMatchObject({ labels: ['b', 'b'], numbers: Uint8Array.of(8, 8) });
    expect(second?.pairs).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(second?.inputs.map((input) => input.shape)).toEqual([[2], [2, 1]]);
    expect([second, second?.labels, second?.pairs, second?.inputs].map(rowsOf)).toEqual([1, 1, 1, 1]);
  });

  it.each([
    ['scalars', tf.scalar(1), 'data must have rows, got a scalar'],
    ['empty lists', { xs: [] }, 'data must have at least one row'],
    ['other values', { xs: 7 }, 'data.xs must be a tensor, an array, or an object of them, got 7'],
    ['complex numbers', tf.complex([1], [1]), 'the dtype of data must be float32, int32, bool or string'],
    [
      'inputs with different numbers of rows',
      { xs: new Float32Array(4), ys: new Float32Array(2) },
      'all inputs must have the same number of rows, got 4 in data.xs, 2 in data.ys',
    ],
  ])('refuses %s', (_, data, message) => {
    expect(() => shares(data as object, 2)).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_VALUE', message: expect.stringContaining(message) }),
    );
  });

  it('refuses a remainder that leaves no rows, and options of other values', () => {
    expect(() => shares([1, 2], 3, { remainder: 'drop' })).toThrow("'drop' leaves no row for any replica, got 2 rows");
    expect(() => shares([1, 2], 2, { remainder: 'pad' } as never)).toThrow("remainder must be 'exact' or 'drop'");
  });
});

it('replicas that pass different data get an error that names three cures', () => {
  const message =
    /^replicas pass different data to shareOf, .*Seed the shuffle; or load the data once and pass .*{ from: 0 }.*; or share the data before/;
  expect(() => shareOf(tf, tf.tensor1d([1, 2]), oddReplica())).toThrow(
    expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE', message: expect.stringMatching(message) }),
  );
});

it('rowsOf refuses what shareOf has not returned', () => {
  expect(() => rowsOf(tf.tensor1d([1]))).toThrow(
    'share must be a tensor, an array or inputs that shareOf has returned',
  );
});

describe('data from one replica', () => {
  it('is the same on all replicas, of every kind', () => {
    const data = {
      xs: tf.tensor2d([1, 2, 3, 4], [2, 2]),
      ys: Float64Array.of(Number.NaN, 0.1),
      texts: tf.tensor1d(['é', 'b']),
      rows: [
        [Float32Array.of(1, 2), Number.NaN, null],
        [-0, { a: 'x' }],
      ],
    };
    const [root, other] = replicas(2) as [ReplicaContext, ReplicaContext];
    const sent: Tensor[] = [];
    const sending = { ...root, broadcastSync: (value: Tensor) => sent.push(value) && value };
    const receiving = { ...other, broadcastSync: () => sent.shift() };
    const first = shareOf(tf, data, sending as never, { from: 0 });
    const second: typeof data = shareOf(tf, undefined as typeof data | undefined, receiving as never, { from: 0 });
    expect(sent).toEqual([]);
    expect([first.xs.arraySync(), second.xs.arraySync()]).toEqual([[[1, 2]], [[3, 4]]]);
    expect([...first.ys, ...second.ys]).toEqual([Number.NaN, 0.1]);
    expect([first.texts.arraySync(), second.texts.arraySync()]).toEqual([['é'], ['b']]);
    expect([first.rows, second.rows]).toEqual([[data.rows[0]], [data.rows[1]]]);
  });

  it.each([-1, 2, 0.5, '0', null])('refuses from: %j of two replicas', (from) => {
    const [root] = replicas(2) as [ReplicaContext];
    expect(() => shareOf(tf, [1, 2], root, { from } as never)).toThrow(
      `shareOf: from must be the number of a replica, 0 to 1, got ${JSON.stringify(from)}`,
    );
  });

  it('must come from a dataset on all replicas or on none', async () => {
    const [root, other] = replicas(2) as [ReplicaContext, ReplicaContext];
    const sent: Tensor[] = [];
    const sending = { ...root, broadcastSync: (value: Tensor) => sent.push(value) && value };
    const receiving = { ...other, broadcastSync: () => sent.shift() };
    const dataset = tf.data.array([1, 2]).batch(2);
    const read = (share: object) => (share as tf.data.Dataset<tf.TensorContainer>).toArray();
    await read(shareOf(tf, dataset, sending as never, { from: 0 }));
    expect(() => shareOf(tf, undefined, receiving as never, { from: 0 })).toThrow(
      'shareOf: replica 0 shares a dataset, so all other replicas must pass a dataset, such as tf.data.array([])',
    );
    sent.length = 0;
    shareOf(tf, [1, 2], sending as never, { from: 0 });
    await expect(read(shareOf(tf, dataset, receiving as never, { from: 0 }))).rejects.toThrow(
      'shareOf: replica 0 shares data, so all other replicas must pass undefined or data',
    );
  });

  it('must not contain values that cannot be sent', () => {
    const [root] = replicas(2) as [ReplicaContext];
    expect(() => shareOf(tf, [new Date(), 1], root, { from: 0 })).toThrow(/rows must be made of numbers/);
  });
});

describe('the share of a dataset', () => {
  const dataset = (rows: number, batch: number) =>
    tf.data.array(Array.from({ length: rows }, (_, index) => ({ xs: [index], ys: index }))).batch(batch);
  type Batch = { readonly xs: tf.Tensor2D; readonly ys: tf.Tensor1D };

  const partsOf = async (count: number, data: tf.data.Dataset<tf.TensorContainer>, options?: ShareOptions) => {
    const parts: number[][][] = [];
    for (const share of shares(data, count, options)) {
      const ofReplica: number[][] = [];
      await share.forEachAsync((batch) => {
        const { xs, ys } = batch as unknown as Batch;
        expect(Array.from(xs.dataSync())).toEqual(Array.from(ys.dataSync()));
        ofReplica.push(Array.from(ys.dataSync()));
      });
      parts.push(ofReplica);
    }
    return parts;
  };

  it('is a dataset of every N-th row of each batch, and keeps no tensors', async () => {
    const before = tf.memory().numTensors;
    const data = dataset(9, 4);
    for (let epoch = 0; epoch < 2; epoch++)
      expect(await partsOf(2, data)).toEqual([
        [[0, 2], [4, 6], [8]],
        [[1, 3], [5, 7], []],
      ]);
    expect(await partsOf(2, data, { remainder: 'drop' })).toEqual([
      [
        [0, 2],
        [4, 6],
      ],
      [
        [1, 3],
        [5, 7],
      ],
    ]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('has the methods of a dataset', async () => {
    const [, second] = shares(dataset(8, 4), 2) as [unknown, tf.data.Dataset<Batch>];
    const elements = await second.take(1).prefetch(2).toArray();
    expect(elements.map(({ ys }) => ys.arraySync())).toEqual([[1, 3]]);
    expect(second).toBeInstanceOf(tf.data.Dataset);
    tf.dispose(elements);
  });

  it('refuses batches that do not divide before a step uses them, except the last one', async () => {
    const before = tf.memory().numTensors;
    await expect(partsOf(3, dataset(9, 4))).rejects.toThrow(
      'must have a multiple of 3 rows, one part per replica, got 4; use batches of 3 or 6',
    );
    await expect(partsOf(2, dataset(5, 4).repeat(2))).rejects.toThrow(
      'must have a multiple of 2 rows, one part per replica, got 1; call repeat() and concatenate() after shareOf',
    );
    expect(await partsOf(3, dataset(4, 4))).toEqual([[[0, 3]], [[1]], [[2]]]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('refuses elements that have not been batched', async () => {
    const scalars = tf.data.array([{ xs: 1 }, { xs: 2 }]);
    await expect(partsOf(2, scalars as never)).rejects.toThrow(/batch.xs must be .*got 1/);
    const lists = tf.data.array([{ xs: [1] }, { xs: [2] }]);
    await expect(partsOf(2, lists as never)).rejects.toThrow('batch.xs must be a tensor, got [1]; call batch(size)');
  });

  it('has the rows of one replica, which alone reads its dataset', async () => {
    const [root, other] = replicas(2) as [ReplicaContext, ReplicaContext];
    const sent: Tensor[] = [];
    const sending = { ...root, broadcastSync: (value: Tensor) => sent.push(value) && value };
    const receiving = { ...other, broadcastSync: () => sent.shift() };
    const unread = tf.data.generator(() => {
      throw new Error('is read');
    });
    const yours = shareOf(tf, dataset(5, 4), sending as never, { from: 0 });
    const mine = shareOf(tf, unread.batch(4), receiving as never, { from: 0 });
    const rowsIn = async (share: unknown) =>
      (await (share as tf.data.Dataset<Batch>).toArray()).map(({ ys }) => Array.from(ys.dataSync()));
    expect([await rowsIn(yours), await rowsIn(mine)]).toEqual([
      [[0, 2], [4]],
      [[1, 3], []],
    ]);
    expect(sent).toEqual([]);
  });

  it('is an error if replicas read different first batches', async () => {
    const share = shareOf(tf, dataset(4, 2), oddReplica());
    await expect(share.toArray()).rejects.toThrow(/^replicas read different first batches of a dataset, .*from: 0/);
  });
});

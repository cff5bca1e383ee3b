import { directAlgorithm } from '@coll/direct';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryTensor } from '../../test/arbitrary-tensor.js';
import { DrivenCollectives } from '../../test/driven-collectives.js';
import { rejection } from '../../test/thrown.js';
import type { CollectiveOp } from '../collectives/collective.js';
import type { RunOptions } from '../runtime/communicator.js';
import { listOf } from '../runtime/segment-list.js';
import { concatenateSlices } from '../sparse/aggregate-slices.js';
import { deduplicate } from '../sparse/deduplicate.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';
import type { DType } from '../values/dtype.js';
import { toNumbers } from '../values/element.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import type { ReplicaReduceOptions } from './replica-collectives.js';

interface Call {
  readonly values: readonly Value[];
  readonly op?: CollectiveOp;
  readonly options?: ReplicaReduceOptions;
  readonly run?: RunOptions;
}

/** Makes one call per replica. Returns the collectives that each replica runs, and the promise of its result. */
async function together(calls: readonly Call[]) {
  const group = createThreadGroup({ size: calls.length, maxBytes: 2 ** 20, spins: 0 });
  const requests: string[][] = calls.map(() => []);
  const results = calls.map(({ values, op = 'sum', options, run: runOptions }, rank) => {
    const communicator = new ThreadCommunicator(group, { rank, algorithm: directAlgorithm() });
    const keep = (kind: string, lengths: readonly number[]) => requests[rank]?.push(`${kind} ${lengths.join('+')}`);
    const { run } = communicator;
    communicator.run = (...args) => {
      const [, [input = []]] = args;
      keep(
        args[0].kind,
        listOf(input).map(({ data }) => data.length),
      );
      return run.apply(communicator, args);
    };
    const collectives = new DrivenCollectives(communicator);
    return collectives.run(collectives.allReduce(op, values, options), runOptions);
  });
  return { requests, results };
}

async function sums(...calls: readonly Call[]): Promise<readonly (readonly Value[])[]> {
  return Promise.all((await together(calls)).results);
}

async function refusals(...calls: readonly Call[]) {
  return Promise.all((await together(calls)).results.map(rejection));
}

function slices(rows: readonly number[], indices: ArrayBufferView, row: readonly number[] = [], denseShape?: number[]) {
  const shape = [(indices as Int32Array).length, ...row];
  return new IndexedSlices(tensor(rows, { dtype: 'float32', shape }), indices as Int32Array, denseShape);
}

describe('a sum of sparse values across replicas', () => {
  it('has the rows of all replicas in rank order, for any number of rows', async () => {
    const parts = [
      slices([], new Int32Array(), [2]),
      slices([1, 2, 3, 4], Int32Array.of(5, 5), [2]),
      slices([5, 6], Int32Array.of(0), [2]),
    ];
    for (const [result] of await sums(...parts.map((part) => ({ values: [part] })))) {
      expect(result).toEqual(slices([1, 2, 3, 4, 5, 6], Int32Array.of(5, 5, 0), [2]));
    }
  });

  it('may have no rows, or rows without elements', async () => {
    const values = [slices([], new Int32Array(), [2], [4, 2]), slices([], Int32Array.of(1, 1), [0])];
    for (const [none, empty] of await sums({ values }, { values })) {
      expect(none).toEqual(values[0]);
      expect(empty).toEqual(slices([], Int32Array.of(1, 1, 1, 1), [0]));
    }
  });

  it('has int64 indices if index dtypes differ between replicas', async () => {
    const all = [Int32Array.of(7), BigInt64Array.of(2n ** 53n + 1n), Uint8Array.of(3)];
    const calls = all.map((indices) => ({ values: [slices([1], indices), slices([2], Uint8Array.of(1))] }));
    for (const [mixed, alike] of (await sums(...calls)) as [IndexedSlices, IndexedSlices][]) {
      expect(mixed.indices).toEqual(tensor(BigInt64Array.of(7n, 2n ** 53n + 1n, 3n)));
      expect(alike.indices).toEqual(tensor(Uint8Array.of(1, 1, 1)));
    }
  });

  it('has the dense shape of replica 0', async () => {
    const [open, shaped] = [slices([1], Int32Array.of(0)), slices([1], Int32Array.of(0), [], [9])];
    const first = async (...parts: IndexedSlices[]) =>
      (await sums(...parts.map((part) => ({ values: [part] })))).map(
        ([result]) => (result as IndexedSlices).denseShape,
      );
    expect(await first(shaped, open)).toEqual([[9], [9]]);
    expect(await first(open, shaped)).toEqual([undefined, undefined]);
  });

  it.each<DType>(['float16', 'bfloat16', 'int64', 'bool'])('preserves the bits of %s', async (dtype) => {
    const part = (rank: number) => new IndexedSlices(tensor([rank, 1], { dtype, shape: [2] }), Int32Array.of(rank, 0));
    for (const [result] of await sums({ values: [part(0)] }, { values: [part(1)] })) {
      expect((result as IndexedSlices).values).toEqual(tensor([0, 1, 1, 1], { dtype, shape: [4] }));
    }
  });

  it('does not change the values and returns new memory', async () => {
    const own = slices([1, 2], Int32Array.of(3, 4));
    const [[result]] = (await sums({ values: [own] })) as [[IndexedSlices]];
    expect([result, own]).toEqual([slices([1, 2], Int32Array.of(3, 4)), slices([1, 2], Int32Array.of(3, 4))]);
    expect([result.values.data === own.values.data, result.indices.data === own.indices.data]).toEqual([false, false]);
  });

  it('equals the result of a single controller for any values', async () => {
    const dtypes = fc.constantFrom<DType>('float32', 'float64', 'float16', 'int8', 'uint64', 'bool');
    const indexDTypes = fc.constantFrom<DType>('int16', 'int32', 'int64', 'uint32');
    const rowShapes = fc.array(fc.nat({ max: 3 }), { maxLength: 2 });
    const ranks = fc.integer({ min: 1, max: 3 });
    const calls = fc
      .tuple(ranks, fc.array(fc.tuple(dtypes, rowShapes), { minLength: 1, maxLength: 3 }))
      .chain(([size, kinds]) => {
        const ofRank = kinds.map(([dtype, row]) =>
          fc
            .tuple(fc.nat({ max: 4 }), indexDTypes)
            .chain(([rows, indexDType]) =>
              fc
                .tuple(
                  arbitraryTensor(dtype, [rows, ...row]),
                  fc.array(fc.nat({ max: 9 }), { minLength: rows, maxLength: rows }),
                )
                .map(([values, at]) => new IndexedSlices(values, tensor(at, { dtype: indexDType, shape: [rows] }))),
            ),
        );
        return fc.array(fc.tuple(...ofRank), { minLength: size, maxLength: size });
      });
    await fc.assert(
      fc.asyncProperty(calls, fc.boolean(), async (lists, isUnique) => {
        const joined = (lists[0] ?? []).map((_, index) =>
          concatenateSlices(lists.map((list) => list[index] as IndexedSlices)),
        );
        const expected = isUnique ? joined.map(deduplicate) : joined;
        const results = await sums(...lists.map((values) => ({ values, options: { deduplicate: isUnique } })));
        for (const result of results) expect(result).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });

  it('needs one all-gather for the lengths of all sparse values, and one for all their rows', async () => {
    const values = [
      slices([1, 2], Int32Array.of(3, 4)),
      tensor([1]),
      slices([], new Int32Array()),
      slices([5], Int32Array.of(1)),
    ];
    const { requests, results } = await together([
      { values },
      { values: values.with(2, slices([9], Int32Array.of(9))) },
    ]);
    await Promise.all(results);
    // A float32 row and its int32 index take 8 bytes. The replicas have three and four rows; parts are
    // padded to the longest, 32 bytes.
    expect(requests[0]).toEqual(['all-gather 15', 'all-reduce 1', 'all-gather 32']);
  });

  it('gathers directly into the result if there are many rows', async () => {
    const count = 20_000;
    const parts = [count, 1].map((rows, rank) => slices(new Array(rows).fill(rank), new Int32Array(rows).fill(rank)));
    const { requests, results } = await together(parts.map((part) => ({ values: [part] })));
    const [[first], [second]] = (await Promise.all(results)) as [[IndexedSlices], [IndexedSlices]];
    expect(first.values.data).toEqual(new Float32Array(count + 1).fill(1, count));
    expect(first.indices.data).toEqual(new Int32Array(count + 1).fill(1, count));
    expect(second).toEqual(first);
    expect(requests[0]).toEqual(['all-gather 7', `broadcast ${4 * count}+${4 * count}`, 'broadcast 4+4']);
  });
});

describe('a sparse all-reduce with deduplicate', () => {
  const options = { deduplicate: true };

  it('keeps every index once, with the same bits on all replicas', async () => {
    const part = (rank: number) => slices([0.1 * rank, 1e9, 0.3], Int32Array.of(8, 2, 8));
    const ranks = [0, 1, 2];
    const [plain] = await sums(...ranks.map((rank) => ({ values: [part(rank)] })));
    const all = await sums(...ranks.map((rank) => ({ values: [part(rank)], options })));
    for (const [result] of all) expect(result).toEqual(deduplicate((plain as [IndexedSlices])[0]));
  });

  it('computes the mean of float16 values without an overflow of their sum', async () => {
    const part = new IndexedSlices(tensor([60000], { dtype: 'float16', shape: [1] }), new Int32Array(1));
    const all = await sums({ values: [part], op: 'mean', options }, { values: [part], op: 'mean', options });
    for (const [result] of all) expect(toNumbers((result as IndexedSlices).values)).toEqual([60000]);
  });

  it('fails on all replicas if only some replicas request deduplicate', async () => {
    const values = [slices([1], Int32Array.of(0))];
    for (const error of await refusals({ values }, { values, options })) {
      expect(error).toMatchObject({
        name: 'InternalError',
        code: 'ERR_COLL_MISMATCH',
        rank: 1,
        operation: 'all-reduce',
      });
    }
  });
});

describe('an all-reduce of sparse values fails on all replicas, before any result is written, because of', () => {
  const good = slices([1, 2], Int32Array.of(3), [2]);

  it.each<readonly [string, Value, string, string]>([
    [
      'rows of another shape',
      slices([1, 2, 3], Int32Array.of(3), [3]),
      'InvalidArgumentError',
      'ERR_COLL_SHAPE_MISMATCH',
    ],
    [
      'rows of another number of dimensions',
      slices([1], Int32Array.of(3)),
      'InvalidArgumentError',
      'ERR_COLL_SHAPE_MISMATCH',
    ],
    [
      'another dtype',
      new IndexedSlices(zeros('float64', [1, 2]), Int32Array.of(3)),
      'InternalError',
      'ERR_COLL_DTYPE_MISMATCH',
    ],
    ['a dense value', zeros('float32', [4, 2]), 'InternalError', 'ERR_COLL_MISMATCH'],
  ])('%s on one replica', async (_, odd, name, code) => {
    const results = [0, 1, 2].map(() => tensor(Float32Array.of(-1)));
    const calls = [good, good, odd].map((value, rank) => {
      const isSparse = value instanceof IndexedSlices;
      const ones = tensor(Float32Array.of(1));
      const into = isSparse ? [results[rank] as Tensor] : [results[rank] as Tensor, value as Tensor];
      return { values: [ones, value], options: { into } };
    });
    for (const error of await refusals(...calls)) expect(error).toMatchObject({ name, code, rank: 2 });
    for (const { data } of results) expect(data).toEqual(Float32Array.of(-1));
  });

  it('different ops', async () => {
    for (const error of await refusals({ values: [good] }, { values: [good], op: 'mean' })) {
      expect(error).toMatchObject({
        name: 'InternalError',
        code: 'ERR_COLL_MISMATCH',
        rank: 1,
        message: expect.stringContaining('replica 1 calls mean'),
      });
    }
  });

  it('a sum with more elements than a tensor can have', async () => {
    // The shape claims many elements, but the data is empty.
    const values = { data: new Uint8Array(0), dtype: 'uint8', shape: [0, 2 ** 30], device: '' } as const;
    const rows = new IndexedSlices(values, new Int32Array(0));
    const huge = { ...rows, values: { ...values, shape: [3, 2 ** 30] } } as unknown as IndexedSlices;
    Object.setPrototypeOf(huge, IndexedSlices.prototype);
    for (const error of await refusals({ values: [rows] }, { values: [huge] })) {
      expect(error).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER' });
    }
  });

  it('the mean of bool', async () => {
    const flags = new IndexedSlices(tensor([1], { dtype: 'bool', shape: [1] }), new Int32Array(1));
    const call = { values: [flags], op: 'mean' } as const;
    for (const error of await refusals(call, call)) {
      expect(error).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED' });
    }
  });
});

it("an all-reduce fails, instead of adding zeros, if a sparse value's buffer is detached during the call", async () => {
  const own = slices([1, 2], Int32Array.of(3, 4));
  const { results } = await together(
    [own, slices([5], Int32Array.of(6))].map((value) => ({ values: [value], run: { timeoutSeconds: 20 } })),
  );
  structuredClone(own.values.data, { transfer: [own.values.data.buffer as ArrayBuffer] });
  const [first, second] = await Promise.all(results.map(rejection));
  expect(first).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER', rank: 0 });
  expect(second).toMatchObject({ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 0 });
  expect(String(second)).toContain('was detached (transferred or resized)');
});

import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import { DrivenCollectives } from '../../test/driven-collectives.js';
import { keepSegments } from '../../test/keep-segments.js';
import { rejection, thrown } from '../../test/thrown.js';
import type { Collective } from '../collectives/collective.js';
import { concatAlong } from '../kernels/concat-along.js';
import type { Communicator, Segments } from '../runtime/communicator.js';
import { listOf } from '../runtime/segment-list.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';
import { byteSize, dtypes, type TypedArray } from '../values/dtype.js';
import { toNumbers } from '../values/element.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import { reshape, type Tensor, tensor, zeros } from '../values/tensor.js';

const ints = (...elements: readonly number[]) => tensor(elements, { dtype: 'int32' });
const ramp = (length: number) => Array.from({ length }, (_, index) => index);

/** Runs `act` concurrently for `size` replicas in this thread, and returns the result of each. */
async function together<Result>(
  size: number,
  act: (collectives: DrivenCollectives, rank: number) => Promise<Result>,
  calls: string[] = [],
): Promise<Result[]> {
  const group = createThreadGroup({ size, maxBytes: 2 ** 20, spins: 0 });
  const communicators = ramp(size).map((rank) => new ThreadCommunicator(group, { rank, algorithm: directAlgorithm() }));
  return Promise.all(
    communicators.map((communicator, rank) => {
      const run = communicator.run.bind(communicator);
      communicator.run = (...args) => {
        calls.push(args[0].kind);
        return run(...args);
      };
      return act(new DrivenCollectives(communicator), rank);
    }),
  );
}

/** Collectives of a group of one rank, and lists that record their requests and inputs. */
function alone(): {
  readonly collectives: DrivenCollectives;
  readonly requests: string[];
  readonly buffers: TypedArray[];
} {
  const inner = new ReferenceCommunicator({ size: 1, algorithm: directAlgorithm() });
  const requests: string[] = [];
  const buffers: TypedArray[] = [];
  const keep = (collective: Collective, [input = []]: readonly Segments[]) => {
    const segments = listOf(input);
    const length = segments.reduce((sum, { data }) => sum + data.length, 0);
    buffers.push(...segments.map(({ data }) => data));
    requests.push(`${collective.kind} ${segments[0]?.dtype} ${length}`);
  };
  const communicator = Object.assign(Object.create(inner) as Communicator, {
    size: 1,
    refuses: inner.refuses.bind(inner),
    run: (...args: Parameters<Communicator['run']>) => {
      keep(args[0], args[1]);
      return inner.run(...args);
    },
    runSync: (...args: Parameters<Communicator['runSync']>) => {
      keep(args[0], args[1]);
      inner.runSync(...args);
    },
  });
  return { collectives: new DrivenCollectives(communicator), requests, buffers };
}

describe('allReduce of replicas', () => {
  it('combines each value over all replicas', async () => {
    const results = await together(3, (collectives, rank) =>
      collectives.run(collectives.allReduce('max', [ints(rank, 5), reshape(ints(-rank), [])])),
    );
    for (const [first, second] of results as [Tensor, Tensor][]) {
      expect([first, second]).toEqual([ints(2, 5), reshape(ints(0), [])]);
    }
  });

  it('returns floats for the mean of integers', async () => {
    const [results] = await together(2, (collectives, rank) =>
      collectives.run(collectives.allReduce('mean', [ints(rank), ints(4, 6)])),
    );
    expect(results).toEqual([tensor([0.5]), tensor([4, 6])]);
  });

  it('puts all values of a dtype into one pack', async () => {
    const { collectives, requests } = alone();
    const values = [ints(1), tensor([2.5, 3.5]), ints(4, 5, 6)];
    const results = await collectives.run(collectives.allReduce('sum', values));
    expect(results).toEqual(values);
    expect(requests).toEqual(['all-reduce int32 4', 'all-reduce float64 2']);
  });

  it('splits values into packs by bytesPerPack, last values first', () => {
    const { collectives, requests } = alone();
    const values = [2, 3, 6].map((length) => ints(...ramp(length)));
    const requested = collectives.allReduce('sum', values, { bytesPerPack: 24 });
    expect(collectives.runSync(requested)).toEqual(values);
    expect(requests).toEqual(['all-reduce int32 9', 'all-reduce int32 2']);
  });

  it('writes into new memory or the `into` memory, and does not change the values', async () => {
    const { collectives } = alone();
    const [a, b] = [ints(1), ints(2, 3)];
    const [first] = (await collectives.run(collectives.allReduce('sum', [a]))) as [Tensor];
    expect(first.data).not.toBe(a.data);
    const into = [zeros('int32', [1]), zeros('int32', [2])];
    const results = await collectives.run(collectives.allReduce('sum', [a, b], { into }));
    expect(results.every((result, index) => result === into[index])).toBe(true);
    expect([into, a, b]).toEqual([[ints(1), ints(2, 3)], ints(1), ints(2, 3)]);
  });

  it('reuses its pack memory from call to call, for any sizes', async () => {
    const { collectives } = alone();
    for (const lengths of [
      [3, 4],
      [30, 40],
      [1, 0],
      [31, 9],
    ]) {
      const values = lengths.map((length) => ints(...ramp(length)));
      expect(await collectives.run(collectives.allReduce('sum', values))).toEqual(values);
      const means = (await collectives.run(collectives.allReduce('mean', values))) as Tensor[];
      expect(means.map(toNumbers)).toEqual(values.map(toNumbers));
    }
  });

  it('gathers sparse values of different lengths in rank order, together with dense values', async () => {
    const slices = (rank: number) => {
      const rows = ramp(2 * rank).map((element) => 10 * rank + element);
      const values = tensor(rows, { dtype: 'int32', shape: [rank, 2] });
      return new IndexedSlices(values, Int32Array.from(ramp(rank)), [5, 2]);
    };
    const results = await together(3, (collectives, rank) =>
      collectives.run(collectives.allReduce('sum', [slices(rank), ints(rank), slices(0)])),
    );
    for (const [joined, sum, none] of results as [IndexedSlices, Tensor, IndexedSlices][]) {
      expect(joined.values).toEqual(tensor([10, 11, 20, 21, 22, 23], { dtype: 'int32', shape: [3, 2] }));
      expect([joined.indices.data, joined.denseShape]).toEqual([Int32Array.of(0, 0, 1), [5, 2]]);
      expect([sum, none.values.shape]).toEqual([ints(3), [0, 2]]);
    }
  });

  it('divides the rows of a sparse mean by the number of replicas', async () => {
    const [result] = await together(2, (collectives, rank) =>
      collectives.run(collectives.allReduce('mean', [new IndexedSlices(ints(rank + 1), Int32Array.of(0))])),
    );
    expect((result as [IndexedSlices])[0].values).toEqual(tensor([0.5, 1]));
  });

  it('refuses ops other than sum and mean for sparse values', () => {
    const { collectives } = alone();
    const slices: Value = new IndexedSlices(ints(1), Int32Array.of(0));
    expect(thrown(() => collectives.runSync(collectives.allReduce('max', [slices])))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_REFUSED',
    });
  });
});

describe('overlapping calls', () => {
  it('execute one after the other', async () => {
    const results = await together(2, (collectives) => {
      const call = (value: number) => {
        const values = [tensor(Float32Array.of(value, value)), tensor(Float32Array.of(value))];
        return collectives.run(collectives.allReduce('sum', values));
      };
      return Promise.all([call(1), call(10), call(100)]);
    });
    for (const calls of results)
      expect(calls.map(([first]) => toNumbers(first as Tensor))).toEqual([
        [2, 2],
        [20, 20],
        [200, 200],
      ]);
  });

  it('refuse a synchronous call while an asynchronous call of several phases runs', () =>
    together(1, async (collectives) => {
      const running = collectives.run(collectives.allGather([ints(1)], 0));
      expect(thrown(() => collectives.runSync(collectives.allReduce('sum', [ints(2)])))).toMatchObject({
        name: 'RuntimeError',
        code: 'ERR_COLL_BUSY',
      });
      await running;
      expect(collectives.runSync(collectives.allReduce('sum', [ints(2)]))).toEqual([ints(2)]);
    }));

  it('fail on all replicas if their values have the same number of elements but different shapes', async () => {
    const shapes = [
      [2, 3],
      [3, 2],
    ];
    const errors = await together(2, (collectives, rank) =>
      rejection(collectives.run(collectives.allReduce('sum', [zeros('float32', shapes[rank] as number[])]))),
    );
    for (const error of errors) expect(error).toMatchObject({ name: 'InvalidArgumentError', rank: 1 });
  });
});

describe('allGather of replicas', () => {
  it('concatenates values of different lengths along the axis, in rank order', async () => {
    const part = (rank: number) =>
      tensor(
        ramp(2 * rank).map((element) => 10 * rank + element),
        { shape: [2, rank] },
      );
    const results = await together(3, (collectives, rank) => collectives.run(collectives.allGather([part(rank)], 1)));
    const expected = tensor([10, 20, 21, 11, 22, 23], { shape: [2, 3] });
    expect(results).toEqual([[expected], [expected], [expected]]);
  });

  it.each([
    ['another dimension', 1, [2, 1], [3, 1]],
    ['their rank', 0, [2, 1], [2]],
  ])('fails on all replicas if shapes differ in %s', async (_, axis, ...shapes) => {
    const errors = await together(2, (collectives, rank) =>
      rejection(collectives.run(collectives.allGather([zeros('int8', shapes[rank] as number[])], axis))),
    );
    for (const error of errors) {
      expect(error).toMatchObject({ name: 'InvalidArgumentError', code: 'ERR_COLL_SHAPE_MISMATCH' });
    }
  });

  it.each([
    ['one collective, if they fit in the message with their shapes', 32, 1],
    ['two collectives, if they do not', 33, 2],
  ])('sends repeated small values in the same memory, in %s', (_, length, collectivesEach) => {
    const { collectives, buffers } = alone();
    const values = [1, 2, 3].map((element) => ints(...new Array<number>(length).fill(element)));
    const results = values.map((value) => collectives.runSync(collectives.allGather([value], 0)));
    expect(results).toEqual(values.map((value) => [value]));
    expect(buffers).toHaveLength(3 * collectivesEach);
    for (const [index, buffer] of buffers.entries()) expect(buffer).toBe(buffers[index % collectivesEach]);
    const own = results.map(([result]) => (result as Tensor).data.buffer);
    expect(new Set([...own, ...buffers.map(({ buffer }) => buffer)]).size).toBe(3 + collectivesEach);
  });

  it('gathers small values of every dtype and of different lengths in one collective, along any axis', async () => {
    const calls: string[] = [];
    const valuesOf = (rank: number) =>
      dtypes.map((dtype, index) => {
        const columns = index === 0 ? 0 : 1 + ((rank + index) % (byteSize(dtype) < 8 ? 2 : 1));
        const rows = dtype === 'int8' ? 3 : 1;
        const elements = ramp(rows * columns).map((element) => (dtype === 'bool' ? element % 2 : 10 * rank + element));
        return tensor(elements, { dtype, shape: [rows, columns] });
      });
    const results = await together(
      3,
      (collectives, rank) => collectives.run(collectives.allGather(valuesOf(rank), 1)),
      calls,
    );
    const expected = valuesOf(0).map((_, index) =>
      concatAlong(
        ramp(3).map((rank) => valuesOf(rank)[index] as Tensor),
        1,
      ),
    );
    expect(results).toEqual([expected, expected, expected]);
    expect(calls).toEqual(['all-gather', 'all-gather', 'all-gather']);
  });

  it('keeps all bits of small values', async () => {
    const bits = Uint32Array.of(0x7f800001, 0xffc12345, 0x80000000);
    const [[result]] = (await together(2, (collectives) =>
      collectives.run(collectives.allGather([tensor(new Float32Array(bits.buffer.slice(0)))], 0)),
    )) as [[Tensor], [Tensor]];
    expect(new Uint32Array(result.data.buffer)).toEqual(Uint32Array.of(...bits, ...bits));
  });

  it('sends all values after their shapes if those of one replica do not fit in its message', async () => {
    const calls: string[] = [];
    const part = (rank: number) => ints(...ramp(rank === 0 ? 1 : 40));
    const results = await together(
      2,
      (collectives, rank) => collectives.run(collectives.allGather([part(rank)], 0)),
      calls,
    );
    const expected = concatAlong([part(0), part(1)], 0);
    expect(results).toEqual([[expected], [expected]]);
    expect(calls).toHaveLength(4);
  });

  it('fails on all replicas if the buffer of a small value is detached while the gather waits for its turn', async () => {
    const errors = await together(2, async (collectives, rank) => {
      const own = ints(rank);
      const before = collectives.run(collectives.allGather([ints(0)], 0));
      const call = rejection(collectives.run(collectives.allGather([own], 0)));
      if (rank === 0) structuredClone(own.data, { transfer: [own.data.buffer as ArrayBuffer] });
      await before;
      return call;
    });
    expect(errors[0]).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER', rank: 0 });
    expect(errors[1]).toMatchObject({ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 0 });
  });

  it('gathers a large value of equal length on all ranks in one call, and other large values by broadcasts', async () => {
    const calls: string[] = [];
    const gathered = async (...lengths: readonly number[]) => {
      calls.length = 0;
      const results = await together(
        2,
        (collectives, rank) => collectives.run(collectives.allGather([zeros('uint8', [lengths[rank] as number])], 0)),
        calls,
      );
      expect(results.map(([result]) => result?.shape)).toEqual([[length(lengths)], [length(lengths)]]);
      return calls.toSorted();
    };
    const length = (lengths: readonly number[]) => lengths.reduce((sum, each) => sum + each, 0);
    const exchange = ['all-gather', 'all-gather'];
    expect(await gathered(2 ** 17, 2 ** 17)).toEqual([...exchange, 'all-gather', 'all-gather']);
    expect(await gathered(2 ** 17, 2 ** 17 + 1)).toEqual([
      ...exchange,
      ...Array.from({ length: 4 }, () => 'broadcast'),
    ]);
  });

  it('returns large values of all ranks in rank order, along any axis', async () => {
    const part = (rank: number) => tensor(new Float32Array(2 ** 15).fill(rank), { shape: [2, 2 ** 14] });
    for (const axis of [0, 1]) {
      const results = await together(2, (collectives, rank) =>
        collectives.run(collectives.allGather([part(rank)], axis)),
      );
      const expected = concatAlong([part(0), part(1)], axis);
      for (const [result] of results as [Tensor][]) {
        expect(result.shape).toEqual(expected.shape);
        expect(result.data.every((element, index) => element === expected.data[index])).toBe(true);
      }
    }
  });

  it('refuses axes that are out of range before it sends anything', () => {
    const { collectives, requests } = alone();
    expect(thrown(() => collectives.runSync(collectives.allGather([ints(1)], 1)))).toBeInstanceOf(RangeError);
    expect(thrown(() => collectives.runSync(collectives.allGather([tensor(1)], 0)))).toMatchObject({
      name: 'ValueError',
    });
    expect(requests).toEqual([]);
  });
});

describe('broadcast of replicas', () => {
  it("returns the root's values on every replica", async () => {
    const results = await together(3, (collectives, rank) =>
      collectives.run(collectives.broadcast([ints(rank, rank), tensor([rank / 2])], 1)),
    );
    for (const values of results) expect(values).toEqual([ints(1, 1), tensor([0.5])]);
  });

  it('writes into the memory passed as `into`', async () => {
    const results = await together(2, async (collectives, rank) => {
      const mine = ints(rank, rank);
      const [result] = await collectives.run(collectives.broadcast([mine], 0, [mine]));
      return [result === mine, mine];
    });
    expect(results).toEqual([
      [true, ints(0, 0)],
      [true, ints(0, 0)],
    ]);
  });
});

describe('packs that are segments of one buffer', () => {
  const inSegments = () => {
    const { collectives: plain } = alone();
    const calls: string[] = [];
    const inner = new ReferenceCommunicator({ size: 1, algorithm: directAlgorithm() });
    return { plain, calls, collectives: new DrivenCollectives(keepSegments(inner, calls)) };
  };
  const values = [ints(1, 2), ints(3), tensor([1.5]), ints(4, 5, 6)];

  it('return the same results as packs that are copied', async () => {
    const { plain, calls, collectives } = inSegments();
    const expected = plain.runSync(plain.allReduce('mean', values, { bytesPerPack: 15 }));
    expect(collectives.runSync(collectives.allReduce('mean', values, { bytesPerPack: 15 }))).toEqual(expected);
    expect(await collectives.run(collectives.allReduce('mean', values, { bytesPerPack: 15 }))).toEqual(expected);
    expect(calls).toEqual(['all-reduce 3+1', 'all-reduce 3+1']);
  });

  it('are written directly into the `into` memory', () => {
    const { calls, collectives } = inSegments();
    const into = [ints(0, 0), ints(0)];
    const results = collectives.runSync(collectives.allReduce('sum', [ints(1, 2), ints(3)], { into }));
    expect([results, into]).toEqual([[ints(1, 2), ints(3)], into]);
    expect(results.every((result, index) => result === into[index])).toBe(true);
    expect(calls).toEqual(['all-reduce 2+1']);
  });

  it('broadcast all values of a dtype in one call', async () => {
    const { calls, collectives } = inSegments();
    expect(await collectives.run(collectives.broadcast(values, 0))).toEqual(values);
    expect(calls).toEqual(['broadcast 2+1+3']);
  });
});

import { type DType, type Mirrored, PerReplica, ReduceOp, registry, type Tensor, ValueError, zeros } from '@coll/core';
import { decodeNumber, encodeNumber } from '@coll/core/internal';
import { type AllReduceSpecLike, MultiWorkerAllReduce, type Workers } from '@coll/multi-worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { drawn } from '../../../tools/tests/drawn.ts';
import { ncclDouble } from './nccl-double.ts';
import { shapes } from './shapes.ts';

const lengths = [7, 0, 4099, 1, 1000];
const dtypes: readonly DType[] = ['float32', 'float64', 'float16', 'bfloat16', 'int32', 'int64'];

// Small whole numbers, whose sums every dtype holds exactly.
const contribution = (rank: number, element: number) => (((rank + 3) * (element + 1)) % 11) - 5;

const devicesOf = ({ workers, gpusPerWorker }: Workers) =>
  Array.from({ length: workers * gpusPerWorker }, (_, rank) => {
    return `/job:worker/task:${Math.floor(rank / gpusPerWorker)}/device:GPU:${rank % gpusPerWorker}`;
  });

function tensorOf(dtype: DType, length: number, device: string, valueAt: (element: number) => number): Tensor {
  const made = zeros(dtype, [length], device);
  for (let element = 0; element < length; element++)
    made.data[element] = encodeNumber(valueAt(element), dtype) as number;
  return made;
}

/** Every dtype at every length, so that entries of a specification interleave. */
function batchOf(shape: Workers): PerReplica<Tensor>[] {
  const devices = devicesOf(shape);
  return lengths.flatMap((length) =>
    dtypes.map((dtype) => {
      const components = devices.map((device, rank) =>
        tensorOf(dtype, length, device, (element) => contribution(rank, element)),
      );
      return new PerReplica(components);
    }),
  );
}

/** In numbers of a wider type; a quotient of halves is rounded to float32 on its way. */
function expectedOf(op: 'SUM' | 'MEAN', shape: Workers): Tensor[] {
  const ranks = shape.workers * shape.gpusPerWorker;
  const valueAt = (element: number) => {
    let sum = 0;
    for (let rank = 0; rank < ranks; rank++) sum += contribution(rank, element);
    return op === 'SUM' ? sum : sum / ranks;
  };
  return lengths.flatMap((length) =>
    dtypes.map((dtype) => {
      if (op === 'MEAN' && dtype.startsWith('int')) return tensorOf('float64', length, '', valueAt);
      return tensorOf(dtype, length, '', (element) =>
        dtype.endsWith('16') ? Math.fround(valueAt(element)) : valueAt(element),
      );
    }),
  );
}

const bytesOf = ({ data }: Tensor) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

function specsFor({ workers, gpusPerWorker }: Workers): Readonly<Record<string, AllReduceSpecLike>> {
  const ranks = workers * gpusPerWorker;
  return {
    nccl: 'nccl',
    'nccl/xring': 'nccl/xring',
    'nccl/rechd': 'nccl/rechd',
    'nccl/pscpu': ['nccl/pscpu', workers],
    xring: ['xring', Math.min(2, gpusPerWorker)],
    pscpu: ['pscpu', Math.min(2, workers)],
    psgpu: ['psgpu', Math.min(3, ranks)],
    'pscpu/pscpu': ['pscpu/pscpu', Math.min(2, workers)],
    'five at once': `pscpu:0:nccl:1:xring#${gpusPerWorker}:7:psgpu#${ranks}:1000:pscpu/pscpu#${workers}`,
  };
}

beforeAll(() => registry.register(ncclDouble));

describe.each(drawn('shapes', shapes, 2))('$workers workers with $gpusPerWorker devices', (shape) => {
  it('return with every algorithm the same results as plain arithmetic', async () => {
    const batch = batchOf(shape);
    const before = batch.map(({ values }) => values.map((component) => Buffer.from(bytesOf(component))));
    const expected = { SUM: expectedOf('SUM', shape), MEAN: expectedOf('MEAN', shape) };
    const tasks = Array.from({ length: shape.workers }, (_, task) => `/job:worker/task:${task}`);
    const isPower = Number.isInteger(Math.log2(shape.workers));
    for (const [title, allReduceSpec] of Object.entries(specsFor(shape))) {
      if (title === 'nccl/rechd' && !isPower) {
        expect(() => new MultiWorkerAllReduce(tasks, shape.gpusPerWorker, { allReduceSpec })).toThrow(ValueError);
        continue;
      }
      await using ops = new MultiWorkerAllReduce(tasks, shape.gpusPerWorker, { allReduceSpec });
      for (const op of ['SUM', 'MEAN'] as const) {
        const results = await ops.batchReduce(
          ReduceOp[op],
          batch.map((value) => [value, value] as const),
        );
        results.forEach((result, index) => {
          expectEverywhere(
            `${op} ${index} by ${title}`,
            result as Mirrored<Tensor> | Tensor,
            expected[op][index] as Tensor,
            shape,
          );
        });
      }
    }
    for (const [index, { values }] of batch.entries()) {
      const isSame = values.every((component, rank) => bytesOf(component).equals(before[index]?.[rank] as Buffer));
      expect(isSame, `value ${index} is as it was`).toBe(true);
    }
  });
});

/** The same bits on all devices. One component alone comes back as it is, without a look at the op. */
function expectEverywhere(title: string, result: Mirrored<Tensor> | Tensor, expected: Tensor, shape: Workers): void {
  const components = 'values' in result ? result.values : [result];
  expect(components.map(({ device }) => device)).toEqual(devicesOf(shape));
  if (components.length === 1) return;
  for (const component of components) {
    if (component.dtype === expected.dtype && bytesOf(component).equals(bytesOf(expected))) continue;
    const at = [...component.data.keys()].find((index) => component.data[index] !== expected.data[index]) ?? 0;
    const [found, wanted] = [component, expected].map(({ data, dtype }) => decodeNumber(data, at, dtype));
    expect.fail(
      `${title} on ${component.device}: element ${at} is ${found} (${component.dtype}), not ${wanted} (${expected.dtype})`,
    );
  }
}

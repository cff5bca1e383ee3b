import assert from 'node:assert/strict';
import { type DType, Mirrored, PerReplica, type ProcessGroup, type Tensor, tensor, toNumbers, zeros } from '@coll/core';
import { autoAlgorithm, connectGroup } from '@coll/multi-worker';

/** What every worker of a group does at the same time; it fails by throwing. */
export type Scenario = (group: ProcessGroup) => Promise<void>;

/** The devices of a worker. */
export function devicesOf(worker: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `/job:worker/replica:0/task:${worker}/device:CPU:${index}`);
}

/** A component of rank `rank` of all, that nobody else has. */
export function componentOf(rank: number, device: string, length: number, dtype: DType = 'float32', seed = 0): Tensor {
  const isRough = dtype === 'float32' || dtype === 'float64';
  const numberAt = (index: number) => {
    if (dtype === 'bool') return (rank + index) % 2;
    return isRough ? 0.1 * (rank + 1) + index * 0.7 + seed : ((rank + index + seed) % 5) + 1;
  };
  return tensor(
    Array.from({ length }, (_, index) => numberAt(index)),
    { dtype, device },
  );
}

/** The values of all ranks, worker by worker. */
export function everyone(group: ProcessGroup, count: number, make: (rank: number, device: string) => Tensor): Tensor[] {
  return Array.from({ length: group.size }, (_, worker) =>
    devicesOf(worker, count).map((device, index) => make(worker * count + index, device)),
  ).flat();
}

/** The dense values of all ranks, each with its own. */
export function denseOf(group: ProcessGroup, count: number, length: number, dtype?: DType, seed?: number): Tensor[] {
  return everyone(group, count, (rank, device) => componentOf(rank, device, length, dtype, seed));
}

/** This worker's part of a value. */
export function mine<Kind>(group: ProcessGroup, count: number, all: readonly Kind[]): PerReplica<Kind> {
  return new PerReplica(all.slice(group.rank * count, (group.rank + 1) * count));
}

/** The components of a result. */
export function componentsOf(result: unknown): readonly Tensor[] {
  return (result instanceof Mirrored ? result.values : [result]) as readonly Tensor[];
}

/** Equal but for rounding. */
export function assertClose(title: string, found: Tensor | undefined, wanted: Tensor): void {
  assert.equal(found?.dtype, wanted.dtype, `${title}: dtype`);
  assert.deepEqual(found?.shape, wanted.shape, `${title}: shape`);
  const [numbers, others] = [toNumbers(found as Tensor), toNumbers(wanted)].map((list) => list.map(Number));
  const odd = numbers?.findIndex(
    (number, index) => !(Math.abs(number - (others?.[index] as number)) <= 1e-5 * Math.max(1, Math.abs(number))),
  ) as number;
  assert.ok(odd < 0, `${title}: element ${odd} is ${numbers?.[odd]}, not ${others?.[odd]}`);
}

/** All members have the same bits. */
export async function assertAlike(group: ProcessGroup, title: string, tensors: readonly Tensor[]): Promise<void> {
  const bytes = tensors.flatMap(({ data }) => [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]);
  const own = tensor(Uint8Array.from(bytes));
  const all = zeros('uint8', [own.data.length * group.size]);
  await using communicator = connectGroup(group, autoAlgorithm());
  await communicator.run({ kind: 'all-gather' }, [own], [all]);
  for (let rank = 0; rank < group.size; rank++) {
    const part = all.data.slice(rank * own.data.length, (rank + 1) * own.data.length);
    assert.deepEqual(part, own.data, `${title}: rank ${rank} has other bits`);
  }
}

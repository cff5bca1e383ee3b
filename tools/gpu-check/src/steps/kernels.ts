import { type DType, PerReplica, ReduceOp, type Tensor, tensor } from '@coll/core';
import { combine } from '@coll/core/plugin';
import { bufferOf, type DeviceBuffer, type Gpu, gpus, NcclAllReduce, toHost } from '@coll/nccl';
import { contribution, requireSame } from '../expect.js';
import { packing, unpacking } from '../pieces.js';
import type { Step } from '../step.js';

const dtypes: readonly DType[] = [
  'int8',
  'uint8',
  'int32',
  'uint32',
  'int64',
  'uint64',
  'float16',
  'bfloat16',
  'float32',
  'float64',
];
// Kernels process aligned memory word by word, and other memory element by element.
const places = [0, 1];
const counts = [1, 3, 4097, 2 ** 18 + 1];
const replicas = 3;
// NCCL's number of this dtype.
const float32 = 7;
const tensorsInPack = 161;
const packBytes = 2 ** 20;

/** Our own kernels on the GPU, which are written in PTX. */
export const kernels: Step = {
  claim: 'our kernels add up, divide, pack and unpack to the expected bits',
  seconds: 60,
  async run() {
    const [gpu] = gpus() as [Gpu];
    let checked = 0;
    await using ops = new NcclAllReduce();
    for (const dtype of dtypes) {
      for (const count of counts) {
        const inputs = Array.from({ length: replicas }, (_, rank) => contribution(rank, count, dtype));
        for (const op of ['sum', 'mean'] as const) {
          for (const place of places) {
            const what = `${op} of ${replicas} times ${count} elements of ${dtype}, from element ${place} on`;
            requireSame(what, await reduced(gpu, ops, op, inputs, place), combine(op, inputs));
            checked += 1;
          }
        }
      }
    }
    await divide(gpu);
    await packAndUnpack(gpu);
    return { facts: { checked: checked + 2 } };
  },
};

/** Reduces tensors of one GPU. `place` is the element at which their memory starts. */
async function reduced(
  gpu: Gpu,
  ops: NcclAllReduce,
  op: 'sum' | 'mean',
  inputs: readonly Tensor[],
  place: number,
): Promise<Tensor> {
  const buffers = await Promise.all(inputs.map((input) => uploaded(gpu, input, place)));
  const value = new PerReplica(buffers.map((buffer) => buffer.view(place, buffer.length - place).tensor()));
  const result = await ops.reduce(op === 'sum' ? ReduceOp.SUM : ReduceOp.MEAN, value, 'gpu:0');
  const found = await toHost(result as Tensor);
  for (const buffer of [...buffers, bufferOf(result as Tensor)]) buffer.dispose();
  return found;
}

async function uploaded(gpu: Gpu, { data, dtype }: Tensor, place: number): Promise<DeviceBuffer> {
  const buffer = gpu.alloc(dtype, data.length + place);
  await buffer.write(data, { offset: place });
  return buffer;
}

/** Divides aligned and unaligned memory. */
async function divide(gpu: Gpu): Promise<void> {
  const input = contribution(0, 4097, 'float32');
  const wanted = tensor((input.data as Float32Array).map((element) => element / 3));
  for (const place of [0, 1, 4]) {
    for (const target of [0, 1, 4]) {
      using from = await uploaded(gpu, input, place);
      using into = gpu.alloc('float32', wanted.data.length + target);
      const { binding, handle } = into.memory;
      const at = [place, target].map((element) => 4 * element) as [number, number];
      await binding.divide(handle, at[1], float32, from.memory.handle, at[0], float32, wanted.data.length, 3);
      const found = (await into.read()).subarray(target);
      requireSame(`quotients from element ${place} on, to element ${target} on`, tensor(found), wanted);
    }
  }
}

async function packAndUnpack(gpu: Gpu): Promise<void> {
  const original = contribution(1, packBytes / 4, 'float32');
  using source = await gpu.upload(original.data, 'float32');
  using pack = gpu.alloc('float32', packBytes / 4);
  using back = gpu.alloc('float32', packBytes / 4);
  await Promise.all([pack.fill(0), back.fill(0)]);
  const pieces = packing(tensorsInPack, packBytes);
  for (const [into, from, moves] of [
    [pack, source, pieces],
    [back, pack, unpacking(tensorsInPack, packBytes)],
  ] as const) {
    const numbers = Float64Array.from(moves.flatMap((piece) => [piece.into, piece.from, piece.bytes]));
    const handles = [into, from].map(({ memory }) => moves.map(() => memory.handle));
    await into.memory.binding.copyPieces(handles[0] ?? [], handles[1] ?? [], numbers);
  }
  const [packed, unpacked] = [await pack.read(), await back.read()];
  for (const { into, from, bytes } of pieces) {
    const wanted = tensor(original.data.subarray(from / 4, (from + bytes) / 4));
    requireSame(`the tensor at ${into} of a pack`, tensor(packed.subarray(into / 4, (into + bytes) / 4)), wanted);
    requireSame(`the tensor at ${from}`, tensor(unpacked.subarray(from / 4, (from + bytes) / 4)), wanted);
  }
}

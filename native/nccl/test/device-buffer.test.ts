import { dtypes, isTensor, tensor, tensorSymbol } from '@coll/core';
import { bufferOf, counts, type DeviceBuffer, type Gpu, gpus, toHost } from '@coll/nccl';
import { beforeAll, describe, expect, it } from 'vitest';
import './doubles.ts';

describe('DeviceBuffer', () => {
  let gpu: Gpu;
  let other: Gpu;
  beforeAll(() => {
    [gpu, other] = gpus() as [Gpu, Gpu];
  });

  it.each(dtypes)('copies elements of dtype %s to the GPU and back', async (dtype) => {
    const { data } = tensor([0, 1, 1, 0, 1], { dtype });
    using buffer = await gpu.upload(data, dtype);
    expect([buffer.dtype, buffer.length, buffer.byteLength, buffer.device]).toEqual([
      dtype,
      5,
      data.byteLength,
      'gpu:0',
    ]);
    expect(await buffer.read()).toEqual(data);
  });

  it('executes operations on one buffer in call order', async () => {
    using buffer = gpu.alloc('float32', 4);
    const into = new Float32Array(4);
    const calls = [buffer.fill(1), buffer.write(Float32Array.of(7), { offset: 2 }), buffer.read(into), buffer.fill(9)];
    await Promise.all(calls);
    expect([...into]).toEqual([1, 1, 7, 1]);
    expect([...(await buffer.read())]).toEqual([9, 9, 9, 9]);
  });

  it.each(['int64', 'bfloat16', 'bool', 'float64'] as const)('fills a buffer of %s with a number', async (dtype) => {
    using buffer = gpu.alloc(dtype, 3);
    await buffer.fill(1);
    expect(await buffer.read()).toEqual(tensor([1, 1, 1], { dtype }).data);
  });

  it('copies between GPUs and between ranges of buffers', async () => {
    using from = await gpu.upload(Int32Array.of(1, 2, 3, 4), 'int32');
    using into = other.alloc('int32', 4);
    await Promise.all([into.fill(0), into.copyFrom(from.view(1, 3), { at: 1, length: 2 })]);
    expect([...(await into.read())]).toEqual([0, 2, 3, 0]);
    expect([...(await into.view(1, 2).read())]).toEqual([2, 3]);
  });

  it('can be used as a tensor whose elements JavaScript cannot read', async () => {
    using buffer = await gpu.upload(Float32Array.of(1, 2, 3, 4), 'float32');
    const flat = buffer[tensorSymbol]();
    const square = buffer.tensor([2, 2]);
    expect(isTensor(square)).toBe(true);
    expect([flat.shape, square.shape, square.device]).toEqual([[4], [2, 2], 'gpu:0']);
    expect(() => square.data).toThrow(/in the memory of gpu:0: await bufferOf\(tensor\).read\(\)/);
    expect(bufferOf(square)).toBe(buffer);
    expect(await toHost(square)).toEqual(tensor(Float32Array.of(1, 2, 3, 4), { shape: [2, 2], device: 'gpu:0' }));
    expect(() => buffer.tensor([3])).toThrow('the shape [3] does not fit a buffer of 4 elements of float32 on gpu:0');
    expect(() => bufferOf(tensor([1], { device: 'gpu:0' }))).toThrow('has its data in host memory');
  });

  it.each<readonly [string, (buffer: DeviceBuffer) => Promise<unknown>]>([
    ['a longer array', (buffer) => buffer.write(new Float32Array(4))],
    ['an array beyond its end', (buffer) => buffer.write(new Float32Array(2), { offset: 2 })],
    ['an array of another kind', (buffer) => buffer.write(new Float64Array(3))],
    ['a result of another length', (buffer) => buffer.read(new Float32Array(4))],
    [
      'another dtype',
      async (buffer) => {
        using integers = (gpus()[0] as Gpu).alloc('int32', 3);
        await buffer.copyFrom(integers);
      },
    ],
    ['a range beyond the source', (buffer) => buffer.copyFrom(buffer.view(0, 1), { from: 1, length: 1 })],
  ])('refuses %s before any data moves', async (_, call) => {
    using buffer = gpu.alloc('float32', 3);
    await buffer.fill(5);
    await expect(call(buffer)).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER' });
    expect([...(await buffer.read())]).toEqual([5, 5, 5]);
  });

  it.each([-1, 0.5, Number.NaN])('refuses %o as its length', (length) => {
    expect(() => gpu.alloc('int8', length)).toThrow(/the number of elements must be a whole number, 0 or more/);
  });

  it('refuses more elements than any memory can hold', () => {
    expect(() => gpu.alloc('float64', 2 ** 50)).toThrow(
      `${2 ** 50} elements of float64 are more than any memory can hold`,
    );
  });

  it.each([new Uint8Array(5), new Float64Array(3)])(
    'leaves nothing allocated after it refuses to upload %o',
    async (data) => {
      // What the tests before have disposed of is freed behind what used it.
      const nothing = { buffers: 0, bufferBytes: 0 };
      await expect.poll(counts).toMatchObject(nothing);
      await expect(gpu.upload(data, 'float32')).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER' });
      expect(counts()).toMatchObject(nothing);
    },
  );

  it('refuses an unknown dtype', () => {
    expect(() => gpu.alloc('complex64' as never, 1)).toThrow('unknown dtype "complex64"');
  });

  it('can be disposed twice, but not used afterwards, and disposing a view frees nothing', async () => {
    const before = counts().buffers;
    const buffer = gpu.alloc('float32', 2);
    buffer.view(0, 1).dispose();
    await buffer.fill(1);
    buffer.dispose();
    buffer[Symbol.dispose]();
    await expect(buffer.read()).rejects.toMatchObject({ code: 'ERR_COLL_BUFFER', message: /was disposed of/ });
    // What is freed goes behind what used it.
    await gpu.upload(Float32Array.of(1), 'float32').then((last) => last.dispose());
    await expect.poll(() => counts().buffers).toBeLessThanOrEqual(before);
  });

  it('supports zero elements', async () => {
    using buffer = await gpu.upload(new Float32Array(0), 'float32');
    expect((await buffer.read()).length).toBe(0);
  });

  it('copies pinned memory', async () => {
    using pinned = await gpu.allocHost('float64', 3);
    pinned.array.set([1, 2, 3] as never);
    using buffer = await gpu.upload(pinned.array, 'float64');
    expect([...(await buffer.read())]).toEqual([1, 2, 3]);
  });

  it('wraps foreign memory, keeps its owner alive, and never frees it', async () => {
    using owner = await gpu.upload(Float32Array.of(1, 2, 3), 'float32');
    const pointer = await owner.pointer();
    const adopted = await gpu.fromPointer({ pointer, dtype: 'float32', length: 3, owner });
    await adopted.fill(4);
    adopted.dispose();
    expect([...(await owner.read())]).toEqual([4, 4, 4]);
    await expect(gpu.fromPointer({ pointer, dtype: 'int8', length: 1, owner: undefined })).rejects.toThrow(/owner/);
  });

  it('refuses foreign memory that ends before its last element', async () => {
    using owner = await gpu.upload(Float32Array.of(1, 2, 3), 'float32');
    const pointer = (await owner.pointer()) + 4n;
    const before = counts().buffers;
    const foreign = gpu.fromPointer({ pointer, dtype: 'float32', length: 3, owner });
    const message = /: the pointer has 8 bytes up to the end of its allocation, not 12$/;
    await expect(foreign).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED', message });
    await expect(other.fromPointer({ pointer, dtype: 'int8', length: 1, owner })).rejects.toThrow(/belongs to GPU 0/);
    await expect.poll(() => counts().buffers).toBeLessThanOrEqual(before);
  });

  it('refuses misaligned foreign memory, and an invalid description', async () => {
    using owner = await gpu.upload(Float32Array.of(1, 2, 3), 'float32');
    const pointer = await owner.pointer();
    const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE' };
    await expect(gpu.fromPointer({ pointer: pointer + 2n, dtype: 'float32', length: 1, owner })).rejects.toMatchObject({
      ...refused,
      message: /float32 elements must be a multiple of 4, got /,
    });
    using halves = await gpu.fromPointer({ pointer: pointer + 2n, dtype: 'float16', length: 1, owner });
    expect(await halves.read()).toHaveLength(1);
    await expect(gpu.fromPointer(7 as never)).rejects.toMatchObject(refused);
    await expect(gpu.fromPointer(undefined as never)).rejects.toMatchObject(refused);
  });

  it('copies overlapping ranges correctly', async () => {
    const numbers = Float32Array.from({ length: 10 }, (_, index) => index);
    using up = await gpu.upload(numbers, 'float32');
    using down = await gpu.upload(numbers, 'float32');
    await Promise.all([up.copyFrom(up, { at: 3, length: 7 }), down.copyFrom(down, { from: 3 })]);
    expect([...(await up.read())]).toEqual([0, 1, 2, 0, 1, 2, 3, 4, 5, 6]);
    expect([...(await down.read())]).toEqual([3, 4, 5, 6, 7, 8, 9, 7, 8, 9]);
  });

  it('reports how much memory a GPU has', async () => {
    const before = await gpu.memory();
    using buffer = gpu.alloc('uint8', 1 << 24);
    await buffer.fill(0);
    const after = await gpu.memory();
    expect(after.total).toBe(gpu.info.bytes);
    // Small buffers that were disposed of before may be given back meanwhile.
    expect(before.free - after.free).toBeGreaterThan(1 << 23);
  });

  it.each([0n, 123n])('refuses the pointer %s, which is not GPU memory', async (pointer) => {
    const before = counts().buffers;
    const foreign = gpu.fromPointer({ pointer, dtype: 'int8', length: 1, owner: {} });
    const message = /: the pointer does not refer to memory of GPU 0$/;
    await expect(foreign).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_REFUSED', message });
    await expect.poll(() => counts().buffers).toBeLessThanOrEqual(before);
  });

  it('refuses the per-thread default stream, because the addon would use that of its own thread', async () => {
    using buffer = gpu.alloc('int8', 1);
    const refused = {
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: /2 is the default stream of whatever thread/,
    };
    await expect(gpu.waitFor(2n)).rejects.toMatchObject(refused);
    await expect(gpu.orderAfter(2n, buffer)).rejects.toMatchObject(refused);
  });

  it.each([-1n, 7 as never])('refuses %s, which is not a pointer', async (pointer) => {
    const refused = {
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: /the address must be a 64-bit bigint, got /,
    };
    await expect(gpu.fromPointer({ pointer, dtype: 'int8', length: 1, owner: {} })).rejects.toMatchObject(refused);
    await expect(gpu.waitFor(pointer)).rejects.toMatchObject(refused);
  });
});

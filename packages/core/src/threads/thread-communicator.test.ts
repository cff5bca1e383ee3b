import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { rejection, thrown } from '../../test/thrown.js';
import { type Collective, outputDType } from '../collectives/collective.js';
import { jsEngine } from '../js/js-engine.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Engine } from '../runtime/engine.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import type { DType } from '../values/dtype.js';
import { encodeNumber } from '../values/element.js';
import { type Tensor, zeros } from '../values/tensor.js';
import { wasmEngine } from '../wasm/wasm-engine.js';

const mebibyte = 2 ** 20;
const sum: Collective = { kind: 'all-reduce', op: 'sum' };

/** All ranks of a group, in one thread: only asynchronous calls can meet. */
function open(engine: Engine, size: number, algorithm = directAlgorithm()): Communicator[] {
  const group = engine.createGroup({ size, maxBytes: 64 * mebibyte, spins: 0 });
  return Array.from({ length: size }, (_, rank) => engine.join(group, { rank, algorithm }));
}

type MakeTensor = (communicator: Communicator, dtype: DType, length: number) => Tensor;

const own: MakeTensor = (_, dtype, length) => zeros(dtype, [length]);
const shared: MakeTensor = (communicator, dtype, length) => communicator.group.allocate(dtype, length);

function fill({ data, dtype }: Tensor, rank: number): void {
  for (let index = 0; index < data.length; index++)
    data[index] = encodeNumber(((index * 7 + rank * 13) % 41) / 8, dtype) as never;
}

function runAll(
  communicators: readonly Communicator[],
  collective: Collective,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): Promise<unknown> {
  return Promise.all(
    communicators.map((communicator, rank) =>
      communicator.run(collective, [inputs[rank] as Tensor], [outputs[rank] as Tensor]),
    ),
  );
}

async function check(
  communicators: readonly Communicator[],
  collective: Collective,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  algorithm = directAlgorithm(),
): Promise<void> {
  inputs.forEach(fill);
  const size = communicators.length;
  const expected = outputs.map(({ dtype, data }) => zeros(dtype, [data.length]));
  const copies = inputs.map(({ dtype, data }) => ({ data: data.slice(), dtype, shape: [data.length], device: '' }));
  new ReferenceCommunicator({ size, algorithm }).runSync(collective, copies, expected);
  await runAll(communicators, collective, inputs, outputs);
  outputs.forEach(({ data }, rank) => {
    const isWritten = collective.kind !== 'reduce' || collective.root === rank;
    const odd = data.findIndex((item: number | bigint, index: number) => item !== expected[rank]?.data[index]);
    expect([rank, odd]).toEqual([rank, isWritten ? -1 : odd]);
  });
}

// Several blocks of a stage, and a bit.
const length = 150_001;

describe.each([jsEngine, wasmEngine])('threads of the $name engine', (engine) => {
  it.each([
    ['own', [own, own, own]],
    ['shared', [shared, shared, shared]],
    ['mixed', [own, shared, own]],
    ['mostly shared', [shared, shared, own]],
  ] as const)('accept buffers of any length in %s memory', async (_, makers) => {
    const communicators = open(engine, 3, ringAlgorithm());
    const make = (dtype: DType, count: number) =>
      communicators.map((communicator, rank) => (makers[rank] as MakeTensor)(communicator, dtype, count));
    const requests: readonly (readonly [Collective, DType])[] = [
      [sum, 'float32'],
      [{ kind: 'all-reduce', op: 'mean' }, 'int32'],
      [{ kind: 'reduce', op: 'max', root: 1 }, 'int64'],
      [{ kind: 'broadcast', root: 2 }, 'float64'],
    ];
    for (const [collective, dtype] of requests) {
      for (const count of [5, 1000, length]) {
        const outputs = make(outputDType(collective, dtype), count);
        await check(communicators, collective, make(dtype, count), outputs, ringAlgorithm());
      }
    }
    const buffers = make('float32', length);
    await check(communicators, sum, buffers, buffers, ringAlgorithm());
  });

  // Who works it out by itself may keep either of two NaNs.
  it.each(['own', 'shared'] as const)(
    'return the same NaN bits on all ranks, even if each rank computes a short result itself, in %s memory',
    async (kind) => {
      const communicators = open(engine, 2);
      const tensors = communicators.map((communicator, rank) => {
        const tensor = (kind === 'own' ? own : shared)(communicator, 'float32', 3);
        const { buffer, byteOffset } = tensor.data;
        new Uint32Array(buffer, byteOffset, 3).set(
          rank === 0 ? [0xffc00001, 0xffc00000, 0] : [0x7fc00002, 0, 0x7fc00003],
        );
        return tensor;
      });
      await runAll(communicators, sum, tensors, tensors);
      for (const { data } of tensors) {
        expect([...new Uint32Array(data.buffer, data.byteOffset, 3)]).toEqual([0x7fc00000, 0x7fc00000, 0x7fc00000]);
      }
    },
  );

  it.each(['own', 'shared'] as const)(
    'preserve NaN bits that are broadcast, and outputs of a reduce at non-root ranks, in %s memory',
    async (kind) => {
      const communicators = open(engine, 2);
      const bits = [0x7fc00001, 0xffc00002, 0x7fc00003];
      const made = (communicator: Communicator) => {
        const tensor = (kind === 'own' ? own : shared)(communicator, 'float32', 3);
        new Uint32Array(tensor.data.buffer, tensor.data.byteOffset, 3).set(bits);
        return tensor;
      };
      const bitsOf = ({ data }: Tensor) => [...new Uint32Array(data.buffer, data.byteOffset, 3)];
      const [inputs, outputs] = [communicators.map(made), communicators.map(made)] as [Tensor[], [Tensor, Tensor]];
      await runAll(communicators, { kind: 'reduce', op: 'sum', root: 1 }, inputs, outputs);
      expect(outputs.map(bitsOf)).toEqual([bits, [0x7fc00000, 0x7fc00000, 0x7fc00000]]);
      await runAll(communicators, { kind: 'broadcast', root: 0 }, inputs, outputs);
      expect(outputs.map(bitsOf)).toEqual([bits, bits]);
    },
  );

  it('return the right sum if one rank always passes the same buffer and the other rank does not', async () => {
    const communicators = open(engine, 2);
    const [first, second] = communicators as [Communicator, Communicator];
    const kept = shared(first, 'float32', length);
    const others = [shared, own, shared, own].map((make) => make(second, 'float32', length));
    for (const other of [...others, ...others]) await check(communicators, sum, [kept, other], [kept, other]);
  });

  it('return the right sum in each of several calls on the same shared memory', async () => {
    const communicators = open(engine, 2, ringAlgorithm());
    // Slices of both chunks, of each rank's part.
    const tensors = communicators.map((communicator) => shared(communicator, 'float32', 600_007));
    for (let call = 0; call < 4; call++) await check(communicators, sum, tensors, tensors, ringAlgorithm());
  });

  it('can alternate between two communicators of their group', async () => {
    const group = engine.createGroup({ size: 2, maxBytes: 8 * mebibyte, spins: 0 });
    const [one, other] = [directAlgorithm(), ringAlgorithm()].map((algorithm) =>
      [0, 1].map((rank) => engine.join(group, { rank, algorithm })),
    ) as [Communicator[], Communicator[]];
    for (const count of [1, 2, 3, 5000, 4]) {
      for (const communicators of [one, other, other]) {
        const tensors = communicators.map(() => zeros('float32', [count]));
        await check(communicators, sum, tensors, tensors);
      }
    }
  });

  it('accept buffers in segments that all ranks split alike', async () => {
    const communicators = open(engine, 2);
    const cut = (lengths: readonly number[]) => lengths.map((count) => zeros('float32', [count]));
    for (const lengths of [
      [3, 0, 5],
      [70_000, 1, 80_000],
    ]) {
      const buffers = [cut(lengths), cut(lengths)];
      buffers.forEach((pieces, rank) => {
        for (const piece of pieces) fill(piece, rank);
      });
      const wanted = lengths.map((count, piece) =>
        Array.from(
          { length: count },
          (_, at) => Number(buffers[0]?.[piece]?.data[at]) + Number(buffers[1]?.[piece]?.data[at]),
        ),
      );
      const calls = communicators.map((each, rank) =>
        each.run(sum, [buffers[rank] as Tensor[]], [buffers[rank] as Tensor[]]),
      );
      await Promise.all(calls);
      for (const pieces of buffers) expect(pieces.map(({ data }) => [...data])).toEqual(wanted);
    }
    const odd = communicators.map((each, rank) => {
      const pieces = [cut(rank === 0 ? [3, 5] : [5, 3])];
      return rejection(each.run(sum, pieces, pieces));
    });
    for (const error of await Promise.all(odd)) expect(error).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH' });
  });

  it('all fail when a buffer of one rank is detached during the call', async () => {
    const communicators = open(engine, 2);
    const tensors = communicators.map(() => zeros('float32', [length]));
    const calls = communicators.map((each, rank) =>
      rejection(each.run(sum, [tensors[rank] as Tensor], [tensors[rank] as Tensor])),
    );
    const { buffer } = (tensors[1] as Tensor).data;
    structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
    const [first, second] = await Promise.all(calls);
    expect(first).toMatchObject({ name: 'UnavailableError', rank: 1 });
    expect(second).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER', rank: 1 });
  });

  it('complete a call in a group of one rank before the call returns', async () => {
    const [alone] = open(engine, 1) as [Communicator];
    const tensor = zeros('float32', [3]);
    const alive = vi.spyOn(globalThis, 'setInterval');
    await alone.run(sum, [tensor], [tensor]);
    expect(alive).not.toHaveBeenCalled();
    alive.mockRestore();
  });
});

describe('a long asynchronous call', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each([
    ['shared', shared],
    ['own', own],
  ])('lets the event loop run during the call, on %s memory', async (_, make) => {
    const [alone] = open(jsEngine, 1) as [Communicator];
    const tensor = make(alone, 'float32', 600_000);
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now++);
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await alone.run(sum, [tensor], [tensor]);
    isDone = true;
    expect(turns).toBeGreaterThan(1);
    // Nothing else may begin meanwhile.
    const first = alone.run(sum, [tensor], [tensor]);
    expect(thrown(() => alone.runSync(sum, [tensor], [tensor]))).toMatchObject({ code: 'ERR_COLL_BUSY' });
    await first;
    alone.runSync(sum, [tensor], [tensor]);
  });
});

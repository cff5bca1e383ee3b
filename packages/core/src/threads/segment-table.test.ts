import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { rejection, thrown } from '../../test/thrown.js';
import type { Collective } from '../collectives/collective.js';
import { jsEngine } from '../js/js-engine.js';
import { createWasmArenaMemory } from '../runtime/arena.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Engine } from '../runtime/engine.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import { concatenate } from '../values/concatenate.js';
import { type Tensor, tensor, zeros } from '../values/tensor.js';
import { WasmCommunicator } from '../wasm/wasm-communicator.js';
import { wasmEngine } from '../wasm/wasm-engine.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };

/** All ranks of a group, in one thread: only asynchronous calls can meet. */
function open(engine: Engine, size: number, maxBytes: number, algorithm = directAlgorithm()): Communicator[] {
  const group = engine.createGroup({ size, maxBytes, spins: 0 });
  return Array.from({ length: size }, (_, rank) => engine.join(group, { rank, algorithm }));
}

const lengths = [3, 0, 70_001, 1, 90_000];
const take = (each: Communicator): Tensor[] => lengths.map((length) => each.group.allocate('float32', length));

function fill(pieces: readonly Tensor[], seed: number): void {
  for (const [piece, { data }] of pieces.entries())
    for (let at = 0; at < data.length; at++) data[at] = ((at * 7 + piece * 5 + seed * 13) % 41) / 8;
}

/** Not compared by the test runner, which takes long for so many. */
function isSame({ data }: Tensor, expected: Tensor | undefined): boolean {
  return data.length === expected?.data.length && data.every((value, at) => value === expected.data[at]);
}

/** Runs it on all ranks, and compares with what the reference makes of the pieces joined. */
async function check(
  communicators: readonly Communicator[],
  collective: Collective,
  inputs: readonly (readonly Tensor[])[],
  outputs: readonly (readonly Tensor[])[],
  algorithm = directAlgorithm(),
): Promise<void> {
  inputs.forEach(fill);
  const joined = inputs.map((pieces) => concatenate(pieces));
  const expected = joined.map(({ data }) => zeros('float32', [data.length]));
  new ReferenceCommunicator({ size: communicators.length, algorithm }).runSync(collective, joined, expected);
  await Promise.all(
    communicators.map(async (each, rank) => each.run(collective, [inputs[rank] ?? []], [outputs[rank] ?? []])),
  );
  for (const [rank, pieces] of outputs.entries()) {
    if (collective.kind === 'reduce' && collective.root !== rank) continue;
    expect(isSame(concatenate(pieces), expected[rank])).toBe(true);
  }
}

const pieceBytes = lengths.reduce((bytes, length) => bytes + length * 4, 0);

describe.each([jsEngine, wasmEngine])('segments in the memory of a $name group', (engine) => {
  it('are processed in place, without staging memory', async () => {
    const algorithm = ringAlgorithm();
    const communicators = open(engine, 3, 6 * pieceBytes + 2 ** 17, algorithm);
    const [inputs, outputs] = [communicators.map(take), communicators.map(take)];
    for (const collective of [sum, { kind: 'reduce', op: 'mean', root: 1 }, { kind: 'broadcast', root: 2 }] as const) {
      await check(communicators, collective, inputs, outputs, algorithm);
      await check(communicators, collective, inputs, inputs, algorithm);
    }
    await Promise.all(communicators.map((each) => each.close()));
  });

  it('can be combined with private segments, and alternate with other calls', async () => {
    const communicators = open(engine, 2, 2 ** 24);
    const shared = communicators.map(take);
    const others = communicators.map(take);
    const own = shared.map((pieces) => pieces.map(({ data }) => tensor(new Float32Array(data.length))));
    const first = (lists: readonly (readonly Tensor[])[]) => lists.map((pieces) => pieces.slice(2, 3));
    for (let round = 0; round < 3; round++) {
      await check(communicators, sum, shared, shared);
      await check(communicators, sum, [shared[0] ?? [], own[1] ?? []], [own[0] ?? [], shared[1] ?? []]);
      await check(communicators, sum, first(shared), first(shared));
      await check(communicators, sum, others, shared);
      await check(communicators, sum, [shared[0] ?? [], others[1] ?? []], [shared[0] ?? [], others[1] ?? []]);
    }
  });

  it('are refused on all ranks if one rank would write a segment of another rank', async () => {
    const communicators = open(engine, 2, 2 ** 24);
    const [a, b] = communicators.map(take) as [Tensor[], Tensor[]];
    const wrong = [[a], [[...b.slice(0, 4), a[4] as Tensor]]];
    const calls = communicators.map((each, rank) => rejection(each.run(sum, wrong[rank] ?? [], wrong[rank] ?? [])));
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_BUFFER', operation: 'all-reduce sum' });
      expect((error as Error).message).toMatch(/given twice: the output of rank . overlaps memory of rank ./);
    }
  });
});

describe.each([
  ['of one controller', () => wasmEngine.communicator(2, directAlgorithm()), 2],
  ['in separate threads', () => open(wasmEngine, 2, 2 ** 22)[0] as Communicator, 1],
] as const)('segments of ranks %s', (_, make, count) => {
  const apart = (like: readonly Tensor[]) => like.map(({ data }) => tensor(new Float32Array(data.length)));
  const given = (own: readonly Tensor[]) => [own, apart(own)].slice(0, count);

  it.each([
    ['one segment twice', (one: Tensor) => [one, one]],
    [
      'segments that overlap',
      ({ data }: Tensor) => [data.subarray(0, 4), data.subarray(3, 7)].map((part) => tensor(part)),
    ],
  ])('must not be an output that contains %s', (_, piecesOf) => {
    const pieces = piecesOf(tensor(new Float32Array(8)));
    expect(thrown(() => make().runSync(sum, given(pieces), given(pieces)))).toMatchObject({
      code: 'ERR_COLL_BUFFER',
      message: expect.stringMatching(/the output of rank 0 overlaps memory of rank 0/),
    });
  });

  it.each([null, 7, [null], [[1]]])('must be tensors, not %j', (odd) => {
    const wrong = [odd, odd].slice(0, count) as unknown as Tensor[];
    expect(thrown(() => make().runSync(sum, wrong, wrong))).toMatchObject({
      code: 'ERR_COLL_BUFFER',
      message: expect.stringMatching(/a buffer must be a tensor, got/),
    });
  });
});

it('segments in memory of single-controller ranks are processed without staging memory', () => {
  const communicator = new WasmCommunicator(createWasmArenaMemory(2 * pieceBytes + 2 ** 14), 2, directAlgorithm());
  const pieces = [take(communicator), take(communicator)] as const;
  pieces.forEach(fill);
  const [one, other] = pieces.map((list) => concatenate(list)) as [Tensor, Tensor];
  const sums = one.data.map(((value: number, at: number) => value + Number(other.data[at])) as never);
  communicator.runSync(sum, pieces, pieces);
  for (const list of pieces) expect(isSame(concatenate(list), { ...one, data: sums })).toBe(true);
});

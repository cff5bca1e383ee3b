import type { DeviceBuffer } from '@coll/nccl';
import { Arena, amount } from '../arena.js';
import { atLeast, type Expectation, rounded } from '../expectation.js';
import { inTurn, ours } from '../in-turn.js';
import { OtherProgram } from '../other-program.js';
import { type Piece, packing, unpacking } from '../pieces.js';
import type { Facts, Step } from '../step.js';

const [float32, sum] = [7, 0];
const due = 0.85;

/** A kernel or driver call that copies or adds memory. */
interface Mover {
  /** The bytes that it reads and writes per byte of the call. */
  readonly moved: number;
  /** Makes a function that starts calls on pieces of this size. */
  readonly on: (arena: Arena, bytes: number) => (call: number) => Promise<void>;
}

// ResNet-50 has 161 tensors. With few tensors, the cost of the call itself is visible.
const movers: Readonly<Record<string, Mover>> = {
  copy: { moved: 2, on: copying },
  'pack of 161': { moved: 2, on: (arena, bytes) => copyingPieces(arena, packing(161, bytes), bytes) },
  'unpack of 161': { moved: 2, on: (arena, bytes) => copyingPieces(arena, unpacking(161, bytes), bytes) },
  'pack of 9': { moved: 2, on: (arena, bytes) => copyingPieces(arena, packing(9, bytes), bytes) },
  'unpack of 9': { moved: 2, on: (arena, bytes) => copyingPieces(arena, unpacking(9, bytes), bytes) },
  'sum of 2': { moved: 3, on: (arena, bytes) => adding(arena, 2, bytes) },
  'sum of 4': { moved: 5, on: (arena, bytes) => adding(arena, 4, bytes) },
  quotient: { moved: 2, on: dividing },
};

/** Compares the speed of our kernels with the GPU's own copies. */
export const deviceMemory: Step = {
  claim: 'packing, unpacking, adding up and dividing are nearly as fast as the memory of the GPU',
  seconds: 60,
  isBenchmark: true,
  async run() {
    const mebibytes = amount(1024, 4);
    await using inC = await OtherProgram.inC(mebibytes);
    using arena = await Arena.of(mebibytes);
    const rows: Facts[] = [];
    const expectations: Expectation[] = [];
    for (const size of amount([16, 64, 256], [1])) {
      const bytes = size * 2 ** 20;
      const timing = { bytes, calls: amount(32, 2), repetitions: amount(5, 1), isEach: false };
      const contestants = Object.values(movers).map(({ on }) => ours(on(arena, bytes)));
      const [timeInC = 0, ...times] = await inTurn([inC.times.bind(inC, 'copy'), ...contestants], amount(6, 1), timing);
      const speedInC = (2 * bytes) / timeInC;
      const row: Record<string, number> = { bytes, 'copy in C': rounded(speedInC) };
      for (const [index, [mover, { moved }]] of Object.entries(movers).entries()) {
        const speed = (moved * bytes) / (times[index] as number);
        row[mover] = rounded(speed);
        if (mover === 'copy') continue;
        expectations.push(atLeast(due, 'of the speed of a copy in C', `${mover}, ${size} MiB`, speed / speedInC));
      }
      rows.push(row);
    }
    return { facts: { unit: 'GB/s, read and written together', rows }, expectations };
  },
};

function copying(arena: Arena, bytes: number) {
  const { from, into } = arena;
  return (call: number) => {
    const at = arena.place(call, bytes) / 4;
    return into.copyFrom(from, { at, from: at, length: bytes / 4 });
  };
}

/** Copies tensors whose offsets are prepared in advance. */
function copyingPieces(arena: Arena, pieces: readonly Piece[], bytes: number) {
  const { from, into } = arena;
  const [targets, sources] = [into, from].map((all) => handles(all, pieces.length));
  const numbersAt = (begin: number) =>
    Float64Array.from(pieces.flatMap((piece) => [begin + piece.into, begin + piece.from, piece.bytes]));
  const tables = Array.from({ length: arena.places(bytes) }, (_, place) => numbersAt(place * bytes));
  return (call: number) => {
    const table = tables[call % tables.length] as Float64Array;
    return into.memory.binding.copyPieces(targets ?? [], sources ?? [], table);
  };
}

function adding(arena: Arena, count: number, bytes: number) {
  const { from, into } = arena;
  const sources = handles(from, count);
  return (call: number) => {
    const offsets = Float64Array.from({ length: count }, (_, index) => arena.place(call * count + index, bytes));
    const { binding, handle } = into.memory;
    return binding.combine(handle, arena.place(call, bytes), sources, offsets, float32, sum, bytes / 4);
  };
}

function dividing(arena: Arena, bytes: number) {
  const { binding, handle } = arena.into.memory;
  const source = arena.from.memory.handle;
  return (call: number) => {
    const at = arena.place(call, bytes);
    return binding.divide(handle, at, float32, source, at, float32, bytes / 4, 3);
  };
}

function handles({ memory: { handle } }: DeviceBuffer, count: number) {
  return new Array<typeof handle>(count).fill(handle);
}

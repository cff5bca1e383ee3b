import { expect, it } from 'vitest';
import { collectiveOps } from '../collectives/collective.js';
import type { FoldRequest } from '../kernels/fold.js';
import { javascriptKernels } from '../kernels/javascript-kernels.js';
import { Arena, createWasmArenaMemory } from '../runtime/arena.js';
import type { WasmMemory } from '../runtime/web-assembly.js';
import { byteSize, type DType, dtypes, quotientOf, viewOf } from '../values/dtype.js';
import { wasmKernels } from './wasm-kernels.js';

const mebibyte = 2 ** 20;
const memory = createWasmArenaMemory(16 * mebibyte);
const arena = new Arena(memory);
const kernels = { javascript: javascriptKernels(arena), wasm: wasmKernels(memory.wasm as WasmMemory)(arena) };

const grid = dtypes.flatMap((dtype) =>
  [undefined, ...collectiveOps].filter((op) => !(dtype === 'bool' && op === 'mean')).map((op) => [dtype, op] as const),
);

// Lengths around the boundaries of vectors, cache lines, pages, and the blocks of either engine.
const counts = [1, 3, 4, 7, 8, 9, 16, 17, 65, 130, 1030, 4803];

/** Fills memory with pseudo-random bits and special values, but without NaNs. */
function fill(at: number, dtype: DType, length: number, seed: number): void {
  const bytes = new Uint8Array(arena.bytes, at, length * byteSize(dtype));
  let state = seed;
  for (let index = 0; index < bytes.length; index++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[index] = dtype === 'bool' ? (state >>> 24) & 1 : state >>> 24;
  }
  const data = viewOf(dtype, arena.bytes, at, length);
  const special = specialsOf(dtype);
  for (let index = 0; index < length; index++) {
    if (special.length > 0 && index % 3 === 0) data[index] = special[(index / 3 + seed) % special.length] as never;
    if (isNaNAt(data[index] as number, dtype)) data[index] = 1 as never;
  }
}

const [half, brain] = [
  [0, 0x8000, 1, 0x3ff, 0x400, 0x83ff, 0x7bff, 0x7c00, 0xfc00, 0x3c00, 0x3555],
  [0, 0x8000, 1, 0x7f, 0x80, 0x7f7f, 0x7f80, 0xff80, 0x3f80, 0x3eab],
];

function specialsOf(dtype: DType): readonly number[] {
  if (dtype === 'float16') return half;
  if (dtype === 'bfloat16') return brain;
  return dtype === 'float32' || dtype === 'float64' ? [0, -0, 1, 1 / 3, Infinity, -Infinity, 1e-40, 65504, 3e38] : [];
}

function isNaNAt(value: number, dtype: DType): boolean {
  if (dtype === 'float16') return (value & 0x7fff) > 0x7c00;
  return dtype === 'bfloat16' ? (value & 0x7fff) > 0x7f80 : Number.isNaN(value);
}

interface Trial extends FoldRequest {
  readonly count: number;
  readonly inputs: number;
  readonly outputs: number;
}

// Bytes per buffer, more than the longest one of any trial needs.
const room = 40 * 1024;
const rooms = arena.reserve(10 * room);

/**
 * Executes a fold that skips the first element. Returns the bytes of all outputs, including some
 * around them.
 */
function executed(engine: keyof typeof kernels, trial: Trial): Uint8Array[] {
  const { dtype, op, count, inputs, outputs } = trial;
  const resultDType = op === 'mean' ? quotientOf(dtype) : dtype;
  // Not aligned to a vector.
  const place = (kind: DType) => (_: unknown, index: number) => rooms + 64 + index * room + byteSize(kind);
  const inputsAt = Array.from({ length: inputs }, place(dtype));
  const outputsAt = Array.from({ length: inputs + outputs }, place(resultDType)).slice(inputs);
  for (const at of [...inputsAt, ...outputsAt]) new Uint8Array(arena.bytes, at - 8, count * 8 + 64).fill(0);
  inputsAt.forEach((at, index) => {
    fill(at, dtype, count + 1, index + 1);
  });
  kernels[engine].foldMaker(trial)({ inputs: inputsAt, outputs: outputsAt, count: count + 1 })(1, count);
  return outputsAt.map((at) => {
    const bytes = new Uint8Array(arena.bytes, at - byteSize(resultDType), (count + 4) * byteSize(resultDType));
    return canonical(bytes.slice(), resultDType);
  });
}

/** Replaces every NaN by the same bit pattern. */
function canonical(bytes: Uint8Array, dtype: DType): Uint8Array {
  const data = viewOf(dtype, bytes.buffer, bytes.byteOffset, bytes.length / byteSize(dtype));
  for (let index = 0; index < data.length; index++) {
    if (isNaNAt(data[index] as number, dtype)) data[index] = (dtype.endsWith('float16') ? 0x7fff : Number.NaN) as never;
  }
  return bytes;
}

it.each(grid)('a WebAssembly kernel returns the bits of the JavaScript kernel for %s, %s', (dtype, op) => {
  for (const count of counts) {
    for (const [inputs, outputs] of [
      [1, 1],
      [2, 1],
      [2, 2],
      [3, 3],
      [4, 4],
      [5, 5],
    ] as const) {
      if (op === undefined && inputs > 1) continue;
      for (const divisor of op === 'mean' ? [1, 2, 3, 7, 8] : [4]) {
        const trial = { dtype, op, divisor, count, inputs, outputs };
        const [wasm, javascript] = [executed('wasm', trial), executed('javascript', trial)];
        // Compared here, because the test runner takes long for so many bytes.
        const odd = wasm.findIndex((bytes, index) => bytes.some((byte, at) => byte !== javascript[index]?.[at]));
        expect([trial, odd]).toEqual([trial, -1]);
      }
    }
  }
});

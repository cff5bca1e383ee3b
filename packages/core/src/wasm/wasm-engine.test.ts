import { directAlgorithm } from '@coll/direct';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { jsEngine } from '../js/js-engine.js';
import type { Engine } from '../runtime/engine.js';
import { wasmEngine } from './wasm-engine.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

beforeEach(() => {
  vi.resetModules();
});

// The engine caches the result of its probe, so a test with another platform loads the module again.
const anew = async (): Promise<Engine> => (await import('./wasm-engine.js')).wasmEngine;

it('the wasm engine is available in Node', () => {
  expect(wasmEngine.probe()).toEqual({ available: true });
});

it.each([
  ['WebAssembly', undefined, /WebAssembly is not available/],
  ['SharedArrayBuffer', undefined, /SharedArrayBuffer is not available.*cross-origin isolated/],
  ['WebAssembly', { validate: () => false }, /lacks SIMD or shared memory/],
])('the probe of the wasm engine reports what is missing without %s', async (name, value, reason) => {
  const engine = await anew();
  vi.stubGlobal(name, value);
  expect(engine.probe()).toEqual({ available: false, reason: expect.stringMatching(reason) });
});

it('a group of the wasm engine has memory that can be posted and grows for all threads', () => {
  const group = wasmEngine.createGroup({ size: 2, maxBytes: 8 * 2 ** 20 });
  expect(group.engine).toBe('wasm');
  const posted = structuredClone(group);
  const [first, second] = [group, posted].map((each, rank) =>
    wasmEngine.join(each, { rank, algorithm: directAlgorithm() }),
  );
  const small = second?.group.allocate('float32', 1);
  first?.group.allocate('float32', 2 ** 20);
  const large = second?.group.allocate('float64', 2 ** 18);
  expect([small?.data.length, large?.data.length]).toEqual([1, 2 ** 18]);
  small?.data.set([5] as never);
  expect(new Float32Array(group.arena.wasm?.buffer as SharedArrayBuffer)[(small?.data.byteOffset as number) / 4]).toBe(
    5,
  );
});

it('the wasm engine refuses a group of another engine', () => {
  const group = jsEngine.createGroup({ size: 1, maxBytes: 2 ** 16 });
  expect(thrown(() => wasmEngine.join(group, { rank: 0, algorithm: directAlgorithm() }))).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_VALUE',
    message: expect.stringMatching(/created by the js engine/),
  });
});

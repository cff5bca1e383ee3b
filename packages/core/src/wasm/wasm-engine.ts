import { createWasmArenaMemory } from '../runtime/arena.js';
import type { Engine } from '../runtime/engine.js';
import { webAssembly } from '../runtime/web-assembly.js';
import { ValueError } from '../support/errors.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { requireJoin, threadGroupOf } from '../threads/thread-group.js';
import { kernelBytes } from './kernel-bytes.js';
import { WasmCommunicator } from './wasm-communicator.js';
import { wasmKernels } from './wasm-kernels.js';

/**
 * WebAssembly SIMD on shared memory: near native speed, on every platform with shared memory.
 *
 * @example
 * ```ts
 * import { tensor, wasmEngine } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * if (wasmEngine.probe().available) {
 *   const communicator = wasmEngine.communicator(2, directAlgorithm());
 *   const buffers = [tensor(new Float32Array([1, 2])), tensor(new Float32Array([3, 4]))];
 *   communicator.runSync({ kind: 'all-reduce', op: 'max' }, buffers, buffers);
 *   console.log(buffers[0]?.data); // Float32Array(2) [ 3, 4 ]
 * }
 * ```
 */
export const wasmEngine: Engine = {
  name: 'wasm',
  probe() {
    refusal ??= { reason: reasonAgainst() };
    const { reason } = refusal;
    return reason === undefined ? { available: true } : { available: false, reason };
  },
  communicator: (size, algorithm) => new WasmCommunicator(createWasmArenaMemory(), size, algorithm),
  createGroup: (options) => threadGroupOf('wasm', createWasmArenaMemory, options),
  join(group, request) {
    requireJoin(group, request);
    const { wasm } = group.arena;
    if (!wasm)
      throw new ValueError(
        'ERR_COLL_VALUE',
        `this group was created by the ${group.engine} engine; join it with the same engine`,
      );
    return new ThreadCommunicator(group, { ...request, kernels: wasmKernels(wasm), engine: wasmEngine });
  },
};

// Cached, because the capabilities of a platform do not change.
let refusal: { readonly reason: string | undefined } | undefined;

function reasonAgainst(): string | undefined {
  const platform = webAssembly();
  if (!platform) return 'WebAssembly is not available';
  if (typeof SharedArrayBuffer === 'undefined')
    return 'SharedArrayBuffer is not available; browsers provide it only on pages that are cross-origin isolated';
  if (!platform.validate(kernelBytes())) return 'WebAssembly lacks SIMD or shared memory in this environment';
  if (!compiles(platform))
    return "the content security policy of this page forbids WebAssembly: allow 'wasm-unsafe-eval' in script-src";
  return undefined;
}

/** Whether the platform may compile a module, here the smallest one. */
function compiles({ Module }: NonNullable<ReturnType<typeof webAssembly>>): boolean {
  try {
    return new Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)) !== undefined;
  } catch {
    return false;
  }
}

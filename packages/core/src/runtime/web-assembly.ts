import { CollError } from '../support/errors.js';

/**
 * The part of WebAssembly memory that is used, declared here because neither Node.js's types nor
 * TypeScript's declare it.
 */
export interface WasmMemory {
  /**
   * A buffer over the whole memory. Growth replaces this buffer by a longer one; older buffers stay
   * valid for the part that they cover.
   */
  readonly buffer: SharedArrayBuffer;
  /** Adds pages of 64 KiB. @returns the previous number of pages */
  grow(pages: number): number;
}

interface WebAssemblyGlobal {
  readonly Memory: new (descriptor: { initial: number; maximum: number; shared: boolean }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
  validate(bytes: Uint8Array): boolean;
}

export const pageBytes = 65536;

/** The WebAssembly API; undefined if the platform has none. */
export function webAssembly(): WebAssemblyGlobal | undefined {
  return (globalThis as unknown as { WebAssembly?: WebAssemblyGlobal }).WebAssembly;
}

/** The WebAssembly API. @throws CollError if the platform has none */
export function requireWebAssembly(): WebAssemblyGlobal {
  const platform = webAssembly();
  if (platform) return platform;
  throw new CollError('ERR_COLL_NO_ENGINE', 'WebAssembly is not available; use the js engine');
}

/**
 * Shared memory of `bytes` bytes that can grow to `maxBytes`, both rounded up to whole pages. The
 * system commits only the pages in use.
 * @throws CollError if the platform has no WebAssembly, or the platform's error if it cannot
 * reserve the memory
 */
export function createWasmMemory(bytes: number, maxBytes: number): WasmMemory {
  return new (requireWebAssembly().Memory)({
    initial: Math.ceil(bytes / pageBytes),
    maximum: Math.ceil(maxBytes / pageBytes),
    shared: true,
  });
}

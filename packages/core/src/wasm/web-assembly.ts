import { CollError } from '../support/errors.js';

/** What is needed of WebAssembly: neither Node's types nor those of the language declare it. */
export interface WasmMemory {
  /** After the memory has grown, a new buffer, which shows all of it; the older ones stay valid for what they show. */
  readonly buffer: SharedArrayBuffer;
  /** Adds pages of 64 KiB. @returns how many there were before */
  grow(pages: number): number;
}

interface WebAssemblyGlobal {
  readonly Memory: new (descriptor: { initial: number; maximum: number; shared: boolean }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
  validate(bytes: Uint8Array): boolean;
}

export const pageBytes = 65536;

/** Undefined where the platform has none. */
export function webAssembly(): WebAssemblyGlobal | undefined {
  return (globalThis as unknown as { WebAssembly?: WebAssemblyGlobal }).WebAssembly;
}

/** @throws CollError where the platform has none */
export function requireWebAssembly(): WebAssemblyGlobal {
  const platform = webAssembly();
  if (platform) return platform;
  throw new CollError('ERR_COLL_NO_ENGINE', 'there is no WebAssembly here; take the js engine');
}

/** Shared memory of whole pages, of which only what is used is taken. @throws where there is no such memory */
export function createWasmMemory(bytes: number, maxBytes: number): WasmMemory {
  return new (requireWebAssembly().Memory)({
    initial: Math.ceil(bytes / pageBytes),
    maximum: Math.ceil(maxBytes / pageBytes),
    shared: true,
  });
}

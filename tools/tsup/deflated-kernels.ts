import { readFile } from 'node:fs/promises';
import { deflateRawSync } from 'node:zlib';
import type { Plugin } from 'esbuild';

/**
 * Compresses the WebAssembly kernels of `@coll/core` in a build for Node.js, which reads the whole file at the start of a
 * program but seldom uses the kernels. Browsers cannot inflate without a promise.
 */
export const deflatedKernels: Plugin = {
  name: 'deflated-kernels',
  setup(building) {
    building.onLoad({ filter: /[\\/]wasm[\\/]kernel-bytes\.ts$/ }, async ({ path }) => {
      const [, kernels] = /'([0-9a-f]+)'/.exec(await readFile(path, 'utf8')) ?? [];
      if (kernels === undefined) throw new Error(`${path} contains no hexadecimal digits`);
      const text = deflateRawSync(Buffer.from(kernels, 'hex'), { level: 9 }).toString('base64');
      return {
        contents: `export function kernelBytes() {
          return process.getBuiltinModule('node:zlib').inflateRawSync(Buffer.from('${text}', 'base64'));
        }`,
      };
    });
  },
};

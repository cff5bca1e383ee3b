import { defineConfig, type Options } from 'tsup';

/** How every published package is built: ESM and declarations, one output per entry, shared code in chunks. */
export function libConfig(options: Options & { entry: string[] }) {
  return defineConfig({
    format: ['esm'],
    target: 'node20',
    platform: 'node',
    // tsup sets baseUrl, which TypeScript 6 calls deprecated; a composite project refuses tsup's partial file list.
    dts: { compilerOptions: { ignoreDeprecations: '6.0', composite: false } },
    sourcemap: true,
    clean: true,
    // Entries of one package share module state: './register' registers the class that '.' exports.
    splitting: true,
    removeNodeProtocol: false,
    ...options,
  });
}

import { defineConfig, type Options } from 'tsup';
import { ownClassNames } from './own-class-names.ts';

/** Builds the JavaScript of a published package: one ES module per entry, shared code in chunks. `tsc` writes the declarations. */
export function libConfig(options: Options & { entry: string[] }) {
  return defineConfig({
    format: ['esm'],
    target: 'node20',
    platform: 'node',
    sourcemap: true,
    clean: true,
    // Entries of one package share module state: './register' registers the class that '.' exports.
    splitting: true,
    removeNodeProtocol: false,
    plugins: [classNames],
    ...options,
  });
}

const classNames: NonNullable<Options['plugins']>[number] = {
  name: 'class-names',
  renderChunk(code) {
    const named = ownClassNames(code);
    return named === undefined ? undefined : { code: named };
  },
};

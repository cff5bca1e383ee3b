import { defineConfig, type Options } from 'tsup';

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

/**
 * Where a class names itself, esbuild writes `var Mirrored = class _Mirrored`, and consoles and messages would show that name. This gives it its own back.
 */
const classNames: NonNullable<Options['plugins']>[number] = {
  name: 'class-names',
  renderChunk(code) {
    const renamed = [...code.matchAll(/^var (\w+) = class _\1\b/gm)].map(([, name]) => `_${name}`);
    if (renamed.length === 0) return undefined;
    return { code: code.replace(new RegExp(`\\b(?:${renamed.join('|')})\\b`, 'g'), (name) => name.slice(1)) };
  },
};

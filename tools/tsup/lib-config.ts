import { defineConfig, type Options } from 'tsup';
import { fromOneFile, oneFile } from './one-file.ts';
import { ownClassNames } from './own-class-names.ts';

/**
 * Builds the JavaScript of a published package: one ES module per entry, shared code in chunks. In a package with an
 * entry for internal use, or one that registers a plug-in, one entry holds the code of all others. `tsc` writes the
 * declarations.
 */
export function libConfig({ entry, ...options }: Options & { entry: string[] }) {
  const whole = ['src/internal.ts', 'src/addon.ts'].find((source) => entry.includes(source)) ?? 'src/index.ts';
  const isOneFile = entry.includes('src/internal.ts') || entry.includes('src/register.ts');
  return defineConfig({
    entry: Object.fromEntries(entry.map((source) => [source.replace(/^src\/(.*)\.ts$/, '$1'), source])),
    format: ['esm'],
    target: 'node20',
    platform: 'node',
    sourcemap: true,
    clean: true,
    // Entries of one package share module state: './register' registers the class that '.' exports.
    splitting: true,
    removeNodeProtocol: false,
    plugins: [classNames, oneFileOfOthers],
    esbuildPlugins: isOneFile ? [oneFile(entry, whole)] : [],
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

const oneFileOfOthers: NonNullable<Options['plugins']>[number] = {
  name: 'one-file-of-others',
  renderChunk: (code) => ({ code: fromOneFile(code) }),
};

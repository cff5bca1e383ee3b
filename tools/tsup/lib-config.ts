import { defineConfig, type Options } from 'tsup';
import { fromOneFile, oneFile } from './one-file.ts';
import { ownClassNames } from './own-class-names.ts';

/**
 * Builds the JavaScript of a published package: one ES module per entry, shared code in chunks. If there is an entry for
 * internal use, it holds the code of all entries. `tsc` writes the declarations.
 */
export function libConfig({ entry, ...options }: Options & { entry: string[] }) {
  const whole = entry.find((source) => source === 'src/internal.ts');
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
    esbuildPlugins: whole === undefined ? [] : [oneFile(entry, whole)],
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

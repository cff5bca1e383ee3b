import { defineConfig, type Options } from 'tsup';
import { deflatedKernels } from './deflated-kernels.ts';
import { fromOneFile, oneFile } from './one-file.ts';
import { ownClassNames } from './own-class-names.ts';

/**
 * Builds the JavaScript of a published package twice. For Node.js, `dist` has one ES module per entry, shared code in
 * chunks; in a package with an entry for internal use, or one that registers a plug-in, one entry holds the code of all
 * others. For everything else, `dist/modules` has one ES module per source file, of which bundlers take what a program
 * uses. `tsc` writes the declarations.
 */
export function libConfig({ entry, ...options }: Options & { entry: string[] }) {
  const whole = ['src/internal.ts', 'src/addon.ts'].find((source) => entry.includes(source)) ?? 'src/index.ts';
  const isOneFile = entry.includes('src/internal.ts') || entry.includes('src/register.ts');
  const forNode: Options = {
    ...common,
    entry: Object.fromEntries(entry.map((source) => [source.replace(/^src\/(.*)\.ts$/, '$1'), source])),
    clean: ['!modules/**'],
    // Entries of one package share module state: './register' registers the class that '.' exports.
    splitting: true,
    plugins: [classNames, oneFileOfOthers],
    esbuildPlugins: isOneFile ? [deflatedKernels, oneFile(entry, whole)] : [],
    ...options,
  };
  const modules: Options = {
    ...common,
    entry: ['src/**/*.ts', '!src/**/*.{test,test-d}.ts'],
    outDir: 'dist/modules',
    clean: true,
    bundle: false,
  };
  return defineConfig(entry.includes('src/index.ts') ? [forNode, modules] : forNode);
}

const common: Options = {
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  sourcemap: true,
  removeNodeProtocol: false,
  esbuildOptions(building) {
    // Packages contain their sources.
    building.sourcesContent = false;
  },
};

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

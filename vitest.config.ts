import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'vitest/config';

const root = import.meta.dirname;

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

/** Every `@coll/…` import, subpaths too, is taken from the sources that the package's exports name. */
function sourceAliases(folder: string): { find: RegExp; replacement: string }[] {
  const manifest: Manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    const source = typeof target === 'string' ? undefined : target['@coll/source'];
    if (source === undefined) return [];
    return { find: new RegExp(`^${manifest.name}${subpath.slice(1)}$`), replacement: path.join(folder, source) };
  });
}

const packages = ['packages', 'native'].flatMap((parent) =>
  readdirSync(path.join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(root, parent, name)),
);

export default defineConfig({
  // Aliases and not the '@coll/source' condition: vitest would hand a condition on to every worker thread of a test.
  resolve: { alias: packages.flatMap(sourceAliases) },
  test: {
    include: ['{packages,native,tools,examples}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', '**/out-tsc/**', 'native/*/build/**'],
    pool: 'forks',
    coverage: {
      provider: 'v8',
      include: ['{packages,native}/*/src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/*.test-d.ts'],
    },
  },
});

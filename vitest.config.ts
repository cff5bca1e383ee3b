import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

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

/** Tests from end to end, which take longest, come first, so that the short ones beside the sources fill up all workers at last. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => !path.relative(root, moduleId).includes('/src/');
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  // Aliases and not the '@coll/source' condition: vitest would hand a condition on to every worker thread of a test.
  resolve: { alias: packages.flatMap(sourceAliases) },
  test: {
    include: ['{packages,native,tools,examples}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', '**/out-tsc/**', 'native/*/build/**'],
    pool: 'forks',
    // These end what hangs. How fast a machine is, and what else it does, decides no test.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // Of two cores, vitest would leave one to itself, and itself have little to do.
    maxWorkers: availableParallelism(),
    sequence: { sequencer: LongestFirst },
    coverage: {
      provider: 'v8',
      include: ['{packages,native}/*/src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/*.test-d.ts'],
    },
  },
});

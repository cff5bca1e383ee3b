import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { compiledPackages, compiledSources } from './tools/tests/compiled-sources.ts';

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

/** Which test files are whole programs, grids, and so on: tools/tests/parts.json. */
type Parts = Readonly<
  Record<
    'unit' | 'alone' | 'grids' | 'rest' | 'built' | 'doubles' | 'scale' | 'mpi',
    Readonly<Record<string, readonly string[]>>
  >
>;
const parts: Parts = JSON.parse(readFileSync(path.join(root, 'tools/tests/parts.json'), 'utf8'));
const filesOf = (part: keyof Parts): string[] => Object.values(parts[part]).flat();
const [unit, alone, grids, rest, built, doubles, scale, mpi] = [
  filesOf('unit'),
  filesOf('alone'),
  filesOf('grids'),
  filesOf('rest'),
  filesOf('built'),
  filesOf('doubles'),
  filesOf('scale'),
  filesOf('mpi'),
];

const all = ['{packages,native,tools,examples}/**/*.test.ts'];
const never = ['**/node_modules/**', '**/dist/**', '**/out-tsc/**', 'native/*/build/**'];

/** `core` is `npm test`; `rest`, `scale` and `mpi` are `npm run test:rest`, `test:scale` and `test:mpi`; vitest by itself runs everything. */
const mode = process.env['COLL_TESTS'];
const runs = (part: 'core' | 'rest' | 'scale' | 'mpi') => mode === undefined || mode === part;
const projects: TestProjectInlineConfiguration['test'][] = [];
/** The projects whose tests import single sources of packages. All others import the packages as a program does. */
const testSources: ReadonlySet<unknown> = new Set(['unit', 'alone']);
const setupFiles = 'tools/tests/need-build.ts';
/** `npm run pack` writes the built packages, which other tests read, so its test runs after them. */
const packing = 'tools/package-shape/pack.test.ts';
if (runs('core')) {
  // Test files share threads and modules: what they change globally they put back.
  projects.push({ name: 'unit', include: unit, exclude: alone, pool: 'threads', isolate: false });
  projects.push({ name: 'alone', include: alone });
}
if (runs('core') || runs('rest'))
  projects.push({
    name: 'process',
    include: mode === 'rest' ? [...rest, ...grids] : all,
    exclude: [...unit, ...built, ...doubles, ...mpi, ...(mode === 'core' ? rest : [])],
  });
if (runs('rest')) {
  projects.push({
    ...{ name: 'built', include: built, exclude: [packing] },
    ...{ globalSetup: 'tools/tests/build-packages.ts', setupFiles },
  });
  projects.push({ name: 'packing', include: [packing], sequence: { groupOrder: 1 } });
  projects.push({ name: 'doubles', include: doubles, globalSetup: 'tools/tests/build-doubles.ts', setupFiles });
}

// Their ranks take all cores, so that no two files run at once.
if (mode === 'scale') projects.push({ name: 'scale', include: scale, maxWorkers: 1 });
if (runs('mpi'))
  projects.push({ name: 'mpi', include: mpi, globalSetup: 'tools/tests/build-mpi.ts', setupFiles, maxWorkers: 1 });

/** The short unit tests come last, so that they fill up all workers in the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isUnit = ({ project }: TestSpecification) => project.name === 'unit';
    const sorted = await super.sort(files);
    return [...sorted.filter((file) => !isUnit(file)), ...sorted.filter(isUnit)];
  }
}

export default defineConfig({
  plugins: [compiledSources()],
  // Aliases and not the '@coll/source' condition: vitest would hand a condition on to every worker thread of a test.
  resolve: { alias: packages.flatMap(sourceAliases) },
  test: {
    projects: projects.map((test) => ({
      extends: true,
      plugins: testSources.has(test?.name) ? [] : [compiledPackages()],
      test: { ...test, exclude: [...never, ...(test?.exclude ?? [])] },
    })),
    pool: 'forks',
    setupFiles: process.env['COLL_PROPERTY_MILLIS'] ? [path.join(root, 'tools/tests/long-properties.ts')] : [],
    // Tests of the calibration measure this machine, no others.
    // Records of tests that end badly stay out of the way of others.
    env: { COLL_THRESHOLDS: 'default', COLL_RECORD_DIR: path.join(tmpdir(), `coll-test-records-${userInfo().uid}`) },
    // A package may have nothing that npm test leaves out.
    passWithNoTests: mode === 'rest' || mode === 'mpi',
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

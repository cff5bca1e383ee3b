import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, bundle, measuredPrograms, pagePrograms } from './bundle-size.ts';
import { UserProject } from './user-project.ts';

interface Budget {
  readonly bytes?: number;
  readonly gzip?: number;
  readonly gzipWithCore?: number;
}

type Budgets = Record<keyof (typeof measuredPrograms & typeof pagePrograms), Budget>;

const budgets: Budgets = JSON.parse(readFileSync(new URL('bundle-budgets.json', import.meta.url), 'utf8'));
const names = ['core', 'direct', 'hierarchical-copy', 'multi-worker', 'reduction-to-one', 'ring'];
const platforms = ['browser', 'node'] as const;

/** A program that imports every entry of these packages. */
const everything = ['@coll/core', '@coll/core/internal', '@coll/core/plugin', '@coll/core/schedule']
  .concat(names.slice(1).flatMap((name) => [`@coll/${name}`, `@coll/${name}/register`]))
  .map((entry, index) => `import * as entry${index} from '${entry}'; console.log(entry${index});`)
  .join('\n');

// Another copy of the library in the same process, as a page that loads two bundles has it.
const twoCopies = `
import { CollError, createRegistry, CrossDeviceOps, IndexedSlices, PerReplica, registry, tensor } from '@coll/core';
import { DirectAllReduce } from '@coll/direct';
import * as other from './copy.mjs';

const value = tensor([1, 2]);
const both = [
  registry === other.registry,
  new other.PerReplica([value]) instanceof PerReplica,
  new PerReplica([value]) instanceof other.PerReplica,
  new other.DirectAllReduce() instanceof CrossDeviceOps,
  new DirectAllReduce() instanceof other.CrossDeviceOps,
  new other.IndexedSlices(value, new Int32Array([0, 1])) instanceof IndexedSlices,
  new other.CollError('ERR_COLL_VALUE', 'text') instanceof CollError,
];
console.log(both.join(' '), CollError === other.CollError);
`;

// Prints the classes of errors beside the names of their instances.
const namesOfErrors = `
import * as core from '@coll/core';

for (const [exported, Class] of Object.entries(core)) {
  if (Class !== core.CollError && !(Class?.prototype instanceof core.CollError)) continue;
  console.log(exported, new Class('ERR_COLL_VALUE', 'text').name);
}
class OwnError extends core.ValueError {
  static name = 'OwnError';
}
console.log('OwnError', new OwnError('ERR_COLL_VALUE', 'text').name);
`;

describe('bundles of the published packages', () => {
  let project: UserProject;
  beforeAll(() => {
    project = new UserProject([...names, 'native', 'processes', 'rendezvous', 'strategy']);
    return () => project.remove();
  });
  const bundled = (program: string, platform: (typeof platforms)[number]): Promise<Bundle> =>
    bundle(program, project.folder, platform);

  it('for browsers are no larger than their budgets', async () => {
    const rows = [];
    for (const [name, program] of Object.entries(measuredPrograms)) {
      const [browser, node] = [await bundled(program, 'browser'), await bundled(program, 'node')];
      rows.push({ name, bytes: browser.bytes, gzip: browser.gzip, 'bytes for Node.js': node.bytes });
      const { bytes = Infinity, gzip = Infinity } = budgets[name as keyof Budgets];
      expect(browser.bytes, `bytes of ${name}`).toBeLessThanOrEqual(bytes);
      expect(browser.gzip, `compressed bytes of ${name}`).toBeLessThanOrEqual(gzip);
    }
    console.table(rows);
  });

  it('of strategies in pages are no larger than their budgets', async () => {
    const sizes = [];
    for (const [name, program] of Object.entries(pagePrograms)) {
      const { code, gzip: whole } = await bundled(program, 'browser');
      const { gzip: own } = await bundle(program, project.folder, 'browser', ['@coll/core', '@coll/core/*']);
      sizes.push({ name, gzip: own, 'with @coll/core': whole });
      expect(code).not.toMatch(/(from|import\()\s*["']node:/);
      const { gzip = 0, gzipWithCore = 0 } = budgets[name as keyof Budgets];
      expect(own, `compressed bytes of ${name}`).toBeLessThanOrEqual(gzip);
      expect(whole, `compressed bytes of ${name}, with core`).toBeLessThanOrEqual(gzipWithCore);
    }
    console.table(sizes);
  });

  it.each(platforms)('for %s that reduce print the sums', async (platform) => {
    for (const name of ['js', 'wasm'] as const) {
      project.write(`${platform}-${name}.mjs`, (await bundled(measuredPrograms[name], platform)).code);
      expect(project.run(`${platform}-${name}.mjs`)).toBe('4 6\n');
    }
  });

  it('for browsers contain the WebAssembly code only with its engine', async () => {
    const hasCode = async (program: string) => /"0061736d/.test((await bundled(program, 'browser')).code);
    expect([await hasCode(measuredPrograms.js), await hasCode(measuredPrograms.wasm)]).toEqual([false, true]);
  });

  it.each(platforms)('for %s contain nothing of a package that is not used', async (platform) => {
    expect(await bundled("import '@coll/core'; import '@coll/ring';", platform)).toMatchObject({ code: '', files: [] });
  });

  it.each(platforms)('for %s keep the names of errors, although they are minified', async (platform) => {
    project.write(`names-${platform}.mjs`, (await bundled(namesOfErrors, platform)).code);
    const rows = project.run(`names-${platform}.mjs`).trim().split('\n');
    const names = rows.map((row) => row.split(' '));
    const builtIn = { WrongTypeError: 'TypeError', OutOfRangeError: 'RangeError' } as Record<string, string>;
    expect(names).toEqual(names.map(([exported = '']) => [exported, builtIn[exported] ?? exported]));
    expect(names).toContainEqual(['ValueError', 'ValueError']);
  });

  it.each(platforms)('for %s register the plug-ins that a program registers', async (platform) => {
    const program =
      "import '@coll/ring/register'; import { registry } from '@coll/core'; console.log(registry.has('ring'));";
    project.write(`registers-${platform}.mjs`, (await bundled(program, platform)).code);
    expect(project.run(`registers-${platform}.mjs`)).toBe('true\n');
  });

  it.each([
    ['node', /^node_modules\/@coll\/[\w-]+\/dist\/(?!modules\/)/],
    ['browser', /^node_modules\/@coll\/[\w-]+\/dist\/modules\//],
  ] as const)('for %s contain one copy of each module', async (platform, ownFiles) => {
    const { code, files } = await bundled(everything, platform);
    expect(files.filter((file) => !ownFiles.test(file))).toEqual([]);
    expect(code.match(/@coll\/core\.registry\.v1/g)).toHaveLength(1);
  });

  it('share registry and classes with the copy that Node.js loads', async () => {
    const exports = "export * from '@coll/core'; export { DirectAllReduce } from '@coll/direct';";
    project.write('copy.mjs', (await bundled(exports, 'browser')).code);
    project.write('copies.mjs', twoCopies);
    expect(project.run('copies.mjs')).toBe('true true true true true true true false\n');
  });
});

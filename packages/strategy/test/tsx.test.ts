import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const program = fileURLToPath(new URL('./fixtures/run-module.ts', import.meta.url));
const packages = fileURLToPath(new URL('../../../node_modules', import.meta.url));

const inJavaScript = `
import { doubled } from './doubled';
export const replica = (context, value) => doubled(value) + context.replicaIdInSyncGroup;
`;
const inTypeScript = `
import { getReplicaContext, type ReplicaContext } from '@coll/strategy';
import { doubled } from './doubled.js';
export function replica(context: ReplicaContext, value: number): number {
  if (getReplicaContext() !== context) throw new Error('another copy of the library');
  return doubled(value) + context.replicaIdInSyncGroup;
}
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-tsx-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * What replicas return that run a module of a package with this manifest, in a process with these flags. `before`: they run a
 * JavaScript module first.
 */
async function resultsOf(
  name: string,
  manifest: string,
  flags: readonly string[],
  { before = false } = {},
): Promise<unknown> {
  const home = mkdtempSync(path.join(folder, 'package-'));
  mkdirSync(path.join(home, 'node_modules'));
  symlinkSync(path.join(packages, '@coll'), path.join(home, 'node_modules/@coll'));
  writeFileSync(path.join(home, 'package.json'), manifest);
  writeFileSync(path.join(home, 'doubled.ts'), 'export const doubled = (value: number): number => 2 * value;');
  const file = path.join(home, name);
  writeFileSync(file, /ts$/.test(name) ? inTypeScript : inJavaScript);
  const first = path.join(home, 'first.mjs');
  writeFileSync(first, 'export const replica = () => 1;');
  const modules = [...(before ? [first] : []), file].map((each) => pathToFileURL(each).href);
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, [...flags, program, ...modules], { env });
  return JSON.parse(stdout);
}

describe.concurrent.each(['{ "type": "module" }', '{}'])('in a package of %s', (manifest) => {
  it.each(['replica.js', 'replica.mjs', 'replica.ts', 'replica.mts'])(
    'replicas of %s import TypeScript if the program runs under tsx',
    async (name) => {
      expect(await resultsOf(name, manifest, ['--import', import.meta.resolve('tsx')])).toEqual([40, 41]);
    },
  );

  it('replicas in TypeScript run although the program runs without tsx', async () => {
    expect(await resultsOf('replica.ts', manifest, [])).toEqual([40, 41]);
  });
});

describe('a TypeScript module in threads that were started for JavaScript', () => {
  it('runs if it is an ES module', async () => {
    expect(await resultsOf('replica.ts', '{ "type": "module" }', [], { before: true })).toEqual([40, 41]);
  });

  it('is refused if it is CommonJS, because it would use another copy of the library', async () => {
    expect(await resultsOf('replica.ts', '{}', [], { before: true })).toEqual([
      expect.stringMatching(
        /replica\.ts is CommonJS, but the threads of this strategy were started for ES modules: pass \{ threads: 'own' \}/,
      ),
    ]);
  });
});

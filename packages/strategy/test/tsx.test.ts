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

/** What replicas return that run a module of a package whose manifest is this, in a process with these flags. */
async function resultsOf(name: string, manifest: string, flags: readonly string[]): Promise<unknown> {
  const home = mkdtempSync(path.join(folder, 'package-'));
  mkdirSync(path.join(home, 'node_modules'));
  symlinkSync(path.join(packages, '@coll'), path.join(home, 'node_modules/@coll'));
  writeFileSync(path.join(home, 'package.json'), manifest);
  writeFileSync(path.join(home, 'doubled.ts'), 'export const doubled = (value: number): number => 2 * value;');
  const file = path.join(home, name);
  writeFileSync(file, /ts$/.test(name) ? inTypeScript : inJavaScript);
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, [...flags, program, pathToFileURL(file).href], { env });
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

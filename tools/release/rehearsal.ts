import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { platforms, thisPlatform } from '../../native/engine/tools/platforms.mjs';
import { plainEnvironment } from '../package-shape/user-project.ts';
import type { Registry } from './registry.ts';
import { published, root } from './workspaces.mjs';

/** What a rehearsal has released. */
export interface Released {
  /** The versions in the registry, by package. */
  readonly versions: Readonly<Record<string, readonly string[]>>;
  /** The git tags of the copy of the repository. */
  readonly tags: readonly string[];
  /** The list of the packages' contents, as JSON. */
  readonly billOfMaterials: string;
}

/**
 * Runs `npm run release` in a copy of the built repository, for this platform only, against a registry on loopback.
 * @param folder an empty folder
 */
export async function rehearse(registry: Registry, folder: string): Promise<Released> {
  const packed = path.join(folder, 'packed');
  for (const name of ['engine', 'nccl', 'mpi']) await run(root, [process.execPath, `native/${name}/pack.mjs`, packed]);
  const copy = await copyOfRepository(path.join(folder, 'copy'));
  const others = Object.keys(platforms).filter((platform) => platform !== thisPlatform());
  const without = others.flatMap((platform) => ['--without', platform]);
  await run(copy, ['npm', 'run', 'release', '--', packed, ...without], registry.env);
  const names = [...published.keys()];
  const versions = await Promise.all(
    names.map(async (name) => {
      const response = await fetch(registry.url + name.replace('/', '%2f'));
      const { versions: found = {} } = (await response.json()) as { versions?: Readonly<Record<string, unknown>> };
      return [name, Object.keys(found)] as const;
    }),
  );
  const bill = readdirSync(packed).filter((file) => file.endsWith('.cdx.json'));
  return {
    versions: Object.fromEntries(versions),
    tags: (await run(copy, ['git', 'tag'])).trim().split('\n'),
    billOfMaterials: readFileSync(path.join(packed, bill[0] as string), 'utf8'),
  };
}

/** What a release needs of this repository, in a git repository of its own, which gets the tags. */
async function copyOfRepository(target: string): Promise<string> {
  const listed = await run(root, ['git', 'ls-files', '--cached', '--others', '--exclude-standard', '*package.json']);
  const manifests = listed.trim().split('\n');
  const parts = ['.changeset', 'package-lock.json', 'tools/release', 'native/engine/tools', ...manifests];
  const compiled = ['engine', 'nccl', 'mpi'].map((name) => `native/${name}/compile.json`);
  for (const part of [...parts, ...compiled])
    cpSync(path.join(root, part), path.join(target, part), { recursive: true });
  for (const folder of published.values())
    if (folder.startsWith('packages/'))
      cpSync(path.join(root, folder), path.join(target, folder), {
        recursive: true,
        filter: (source) => !/\/(node_modules|out-tsc|test)$/.test(source),
      });
  symlinkSync(path.join(root, 'node_modules'), path.join(target, 'node_modules'));
  await run(target, ['git', 'init', '--quiet', '--initial-branch=main']);
  await run(target, ['git', 'config', 'user.name', 'rehearsal']);
  await run(target, ['git', 'config', 'user.email', 'rehearsal@coll.example']);
  await run(target, ['git', 'add', ...manifests]);
  await run(target, ['git', 'commit', '--quiet', '--message=all']);
  return target;
}

/** Runs a command to its end. @returns what it printed @throws Error with its output if it fails */
async function run(
  cwd: string,
  [command, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const options = { cwd, env: { ...plainEnvironment(), ...env }, maxBuffer: 2 ** 26 };
  try {
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${[command, ...args].join(' ')} failed:\n${stdout}${stderr}`);
  }
}

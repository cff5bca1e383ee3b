import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

const nativeFolder = path.join(root, 'native/engine');
const folderOf = (name: string) => (name === 'native' ? nativeFolder : path.join(root, 'packages', name));

/** Whether this checkout has the native engine, which takes a compiler. */
export const hasNativeBinary = existsSync(path.join(nativeFolder, 'build/release/coll_native.node'));

/** A folder outside the repository with packages installed as from the registry: what a user has. */
export class UserProject {
  readonly folder: string;

  /** With `binary`, the native engine comes as it is released for this platform: two packages. */
  constructor(packages: readonly string[], { binary = false } = {}) {
    buildIfMissing(packages);
    this.folder = mkdtempSync(path.join(tmpdir(), 'coll-user-'));
    this.write('package.json', '{ "private": true }');
    const plain = binary ? packages.filter((name) => name !== 'native') : packages;
    npm(root, ['pack', '--pack-destination', this.folder, ...plain.map(folderOf)]);
    if (binary) run(root, process.execPath, [path.join(nativeFolder, 'pack.mjs'), this.folder]);
    const tarballs = readdirSync(this.folder).filter((name) => name.endsWith('.tgz'));
    npm(this.folder, ['install', '--offline', '--no-audit', '--no-fund', ...tarballs.map((name) => `./${name}`)]);
  }

  write(file: string, text: string): string {
    const target = path.join(this.folder, file);
    writeFileSync(target, text);
    return target;
  }

  /** What a program prints. Throws with its output if it fails. */
  run(file: string): string {
    return run(this.folder, process.execPath, [file]);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function buildIfMissing(packages: readonly string[]): void {
  const missing = packages.filter((name) => !existsSync(path.join(folderOf(name), 'dist/index.js')));
  if (missing.length > 0) npm(root, ['run', 'build', '--', '-p', missing.map((name) => `@coll/${name}`).join()]);
}

const npm = (cwd: string, args: readonly string[]) => run(cwd, 'npm', args);

function run(cwd: string, command: string, args: readonly string[]): string {
  return execFileSync(command, args, { cwd, env: plainEnvironment(), encoding: 'utf8', stdio: 'pipe' });
}

/** Without what npm and vitest tell their children: a user's shell knows none of it. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const isForeign = (name: string) => /^(npm_|NODE_|COLL_|VITEST|TEST$|DEV$|PROD$|SSR$|MODE$)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name)));
}

/** The first TypeScript program of README.md. */
export function readmeProgram(): string {
  const program = /^```ts\n(.*?)^```$/ms.exec(readFileSync(path.join(root, 'README.md'), 'utf8'))?.[1];
  if (program === undefined) throw new Error('README.md has no ```ts block');
  return program;
}

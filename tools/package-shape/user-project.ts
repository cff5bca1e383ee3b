import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

/** The packages with binaries. */
const nativeFolders: Readonly<Record<string, string>> = {
  native: 'native/engine',
  nccl: 'native/nccl',
  mpi: 'native/mpi',
};
const folderOf = (name: string) => path.join(root, nativeFolders[name] ?? path.join('packages', name));

/** Whether this checkout has the binary of a package, which takes a compiler. */
export const hasBinary = (name: string): boolean =>
  existsSync(path.join(folderOf(name), `build/release/coll_${name}.node`));

/** The folder names of the published packages, as `folderOf` takes them. */
export function publishedPackages(): string[] {
  const all = [...readdirSync(path.join(root, 'packages')), ...Object.keys(nativeFolders)];
  return all.filter((name) => declarationsOf(name).length > 0);
}

/** The declaration files that the manifest of a package names. */
export function declarationsOf(name: string): string[] {
  const manifest = JSON.parse(readFileSync(path.join(folderOf(name), 'package.json'), 'utf8')) as {
    exports?: Record<string, string | { types?: string }>;
  };
  const targets = Object.values(manifest.exports ?? {});
  return targets.flatMap((target) =>
    typeof target === 'object' && target.types ? [path.join(folderOf(name), target.types)] : [],
  );
}

/** A project of a user: a folder outside the repository with packages installed as from the registry. */
export class UserProject {
  readonly folder: string;

  /** With `binary`, packages that have a binary are installed as released for this platform: as two packages each. */
  constructor(packages: readonly string[], { binary = false } = {}) {
    buildIfMissing(packages);
    this.folder = mkdtempSync(path.join(tmpdir(), 'coll-user-'));
    this.write('package.json', '{ "private": true }');
    const withBinary = packages.filter((name) => binary && name in nativeFolders);
    const plain = packages.filter((name) => !withBinary.includes(name));
    npm(root, ['pack', '--pack-destination', this.folder, ...plain.map(folderOf)]);
    for (const name of withBinary) run(root, process.execPath, [path.join(folderOf(name), 'pack.mjs'), this.folder]);
    const tarballs = readdirSync(this.folder).filter((name) => name.endsWith('.tgz'));
    npm(this.folder, ['install', '--offline', '--no-audit', '--no-fund', ...tarballs.map((name) => `./${name}`)]);
  }

  write(file: string, text: string): string {
    const target = path.join(this.folder, file);
    writeFileSync(target, text);
    return target;
  }

  /**
   * Runs a program.
   * @returns its output
   * @throws Error with its output if it fails
   */
  run(file: string): string {
    return run(this.folder, process.execPath, [file]);
  }

  /** The installed packages that lack a file. */
  without(file: string): string[] {
    return this.installed().folders.filter((folder) => !existsSync(path.join(this.folder, folder, file)));
  }

  /** The installed packages, and whether npm ran an install script of any of them. */
  installed(): { readonly folders: readonly string[]; readonly ranScripts: boolean } {
    const lock = readFileSync(path.join(this.folder, 'package-lock.json'), 'utf8');
    const { packages } = JSON.parse(lock) as { packages: Record<string, { hasInstallScript?: boolean }> };
    const folders = Object.keys(packages).filter((folder) => folder !== '');
    return { folders, ranScripts: Object.values(packages).some(({ hasInstallScript }) => hasInstallScript) };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function buildIfMissing(packages: readonly string[]): void {
  const built = packages.flatMap((name) =>
    ['dist/index.js', 'types/index.d.ts'].map((it) => path.join(folderOf(name), it)),
  );
  if (!built.every(existsSync)) npm(root, ['run', 'build']);
}

const npm = (cwd: string, args: readonly string[]) => run(cwd, 'npm', args);

function run(cwd: string, command: string, args: readonly string[]): string {
  return execFileSync(command, args, { cwd, env: plainEnvironment(), encoding: 'utf8', stdio: 'pipe' });
}

/** The environment without the variables that npm and vitest set, as in the shell of a user. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const isForeign = (name: string) => /^(npm_|NODE_|COLL_|VITEST|TEST$|DEV$|PROD$|SSR$|MODE$)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name)));
}

/** The first TypeScript program of README.md. */
export function readmeProgram(): string {
  const program = /^```ts\n(.*?)^```$/ms.exec(readFileSync(path.join(root, 'README.md'), 'utf8'))?.[1];
  if (program === undefined) throw new Error('README.md has no ```ts block');
  return program;
}

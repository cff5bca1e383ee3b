import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

/** A folder outside the repository with packages installed as from the registry: what a user has. */
export class UserProject {
  readonly folder: string;

  constructor(packages: readonly string[]) {
    buildIfMissing(packages);
    this.folder = mkdtempSync(path.join(tmpdir(), 'coll-user-'));
    this.write('package.json', '{ "private": true }');
    const sources = packages.map((name) => path.join(root, 'packages', name));
    const packed: { readonly filename: string }[] = JSON.parse(
      npm(root, ['pack', '--json', '--pack-destination', this.folder, ...sources]),
    );
    const tarballs = packed.map(({ filename }) => `./${filename}`);
    npm(this.folder, ['install', '--offline', '--no-audit', '--no-fund', ...tarballs]);
  }

  write(file: string, text: string): string {
    const target = path.join(this.folder, file);
    writeFileSync(target, text);
    return target;
  }

  /** What a program prints. Throws with its output if it fails. */
  run(file: string): string {
    return execFileSync(process.execPath, [file], { cwd: this.folder, env: plainEnvironment(), encoding: 'utf8' });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function buildIfMissing(packages: readonly string[]): void {
  const missing = packages.filter((name) => !existsSync(path.join(root, 'packages', name, 'dist/index.js')));
  if (missing.length > 0) npm(root, ['run', 'build', '--', '-p', missing.map((name) => `@coll/${name}`).join()]);
}

function npm(cwd: string, args: readonly string[]): string {
  return execFileSync('npm', args, { cwd, env: plainEnvironment(), encoding: 'utf8', stdio: 'pipe' });
}

/** Without what npm and vitest tell their children: a user's shell knows none of it. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const isForeign = (name: string) => /^(npm_|NODE_|VITEST|TEST$|DEV$|PROD$|SSR$|MODE$)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name)));
}

/** The first TypeScript program of README.md. */
export function readmeProgram(): string {
  const program = /^```ts\n(.*?)^```$/ms.exec(readFileSync(path.join(root, 'README.md'), 'utf8'))?.[1];
  if (program === undefined) throw new Error('README.md has no ```ts block');
  return program;
}

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { type Ended, runProgram } from './run-program.ts';
import type { Workplace } from './table.ts';

const root = path.resolve(import.meta.dirname, '../..');
/** Runtimes and installers stay here between calls, for all clones of the repository. */
const cache = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'coll/doors');

/** The packed packages: a folder of tarballs, or the names of packages to pack. `dispose` removes all folders that were made. */
export function openWorkplace(packed: string | readonly string[]): Workplace & Disposable {
  const scratch = mkdtempSync(path.join(tmpdir(), 'coll-doors-'));
  const folder = typeof packed === 'string' ? path.resolve(packed) : pack(packed, path.join(scratch, 'tarballs'));
  const files = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
  return {
    tarballs: files.map((file) => path.join(folder, file)),
    cached,
    emptyFolder: (name) => mkdtempSync(path.join(scratch, `${name.replaceAll(/\W+/g, '-')}-`)),
    [Symbol.dispose]: () => rmSync(scratch, { recursive: true, force: true }),
  };
}

/** Packs packages, and prints the progress. */
function pack(names: readonly string[], folder: string): string {
  const program = path.join(root, 'tools/release/pack.mjs');
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  execFileSync(process.execPath, [program, ...names, '--to', folder], { cwd: root, stdio: [...stdio] });
  return folder;
}

async function cached(spec: string): Promise<string> {
  const [name] = /^@?[^@]+/.exec(spec) as unknown as [string];
  const folder = path.join(cache, spec.replaceAll('/', '+'));
  if (!existsSync(folder)) {
    // Renamed at the end, so that an interrupted installation leaves no folder of that name.
    mkdirSync(cache, { recursive: true });
    const draft = mkdtempSync(path.join(cache, 'draft-'));
    writeFileSync(path.join(draft, 'package.json'), '{ "private": true }');
    await npmInstall(draft, [spec]);
    renameSync(draft, folder);
  }
  return path.join(folder, 'node_modules', name);
}

/** Installs packages with the npm of this machine. @throws Error with the output of npm if it fails */
export async function npmInstall(folder: string, specs: readonly string[]): Promise<void> {
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--loglevel=error'];
  const ended = await runProgram(['npm', 'install', ...options, ...specs], { cwd: folder, seconds: 600 });
  requireSuccess(ended, `npm install ${specs.join(' ')}`);
}

/** @throws Error with the output of a command that has failed */
export function requireSuccess({ code, stdout, stderr }: Ended, what: string): void {
  if (code === 0) return;
  throw new Error(`${what} ${code === undefined ? 'took too long' : `ended with ${code}`}:\n${stdout}${stderr}`);
}

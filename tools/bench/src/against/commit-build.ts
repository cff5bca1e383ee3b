import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../usage-error.js';

/** The compiled benchmark program, below the root of a checkout. */
const program = 'tools/bench/dist';

/**
 * Builds a commit in `.builds/COMMIT` of this repository, unless it has been built before, and puts
 * the benchmark program of this checkout into it: both builds run the same measuring code, each on
 * its own packages.
 * @param commit anything that git resolves to a commit
 * @returns the folder of the compiled benchmark program in that build
 * @throws UsageError if git does not know the commit, or if its build fails
 */
export function buildOfCommit(commit: string, root: string, onProgress: (message: string) => void): string {
  const hash = hashOf(commit, root);
  const folder = path.join(root, '.builds', hash);
  const stamp = path.join(folder, '.built');
  if (!existsSync(stamp)) {
    onProgress(`building ${commit} in ${path.relative(process.cwd(), folder)}, which takes minutes`);
    rmSync(folder, { recursive: true, force: true });
    unpack(hash, root, folder);
    requireSuccess(`the build of ${commit}`, 'npm', ['run', '--silent', 'build'], folder);
    writeFileSync(stamp, '');
  }
  const target = path.join(folder, program);
  rmSync(target, { recursive: true, force: true });
  cpSync(path.join(root, program), target, { recursive: true });
  return target;
}

function hashOf(commit: string, root: string): string {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{commit}`];
  const { status, stdout, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (error) throw new UsageError(`--against needs git: ${error.message}`);
  if (status !== 0) throw new UsageError(`--against must be a commit of this repository, got "${commit}"`);
  return stdout.trim().slice(0, 12);
}

function unpack(hash: string, root: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const archive = path.join(folder, '.sources.tar');
  requireSuccess('git archive', 'git', ['archive', '--output', archive, hash], root);
  requireSuccess('tar', 'tar', ['-xf', archive, '-C', folder], root);
  rmSync(archive);
}

/** Runs a command. Its output goes to stderr, because stdout belongs to the figures. */
function requireSuccess(name: string, command: string, args: readonly string[], cwd: string): void {
  const { status, signal, error } = spawnSync(command, args, {
    cwd,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (error) throw new UsageError(`${name} failed: ${error.message}`);
  if (status !== 0) throw new UsageError(`${name} failed with ${signal ?? `exit code ${status}`}`);
}

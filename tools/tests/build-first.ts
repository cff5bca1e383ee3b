import { spawnSync } from 'node:child_process';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The output of a failed build that the tests of this project need. */
    readonly buildFailure: string | undefined;
  }
}

const root = path.resolve(import.meta.dirname, '../..');

/** Runs a build before the tests of a project. If it fails, all of them fail: see need-build.ts. */
export function buildFirst(project: TestProject, command: string, args: readonly string[]): void {
  // `vitest list` only reads the names of the tests.
  if (process.argv.includes('list')) return;
  const title = [path.basename(command), ...args].join(' ');
  const begin = performance.now();
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  process.stderr.write(`${title} ... ${((performance.now() - begin) / 1000).toFixed(1)} s\n`);
  project.provide('buildFailure', status === 0 ? undefined : `${title} failed: ${error ?? ''}\n${stdout}${stderr}`);
}

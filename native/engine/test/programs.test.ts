import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { native } from '@coll/native';
import { expect, it } from 'vitest';

// What `node build.mjs asan` and `tsan` run under sanitizers: programs of their own, on built packages.
const folders = ['sanitized', '../../../packages/processes/test/sanitized'];
const programs = folders.flatMap((folder) => {
  const whole = path.join(import.meta.dirname, folder);
  return readdirSync(whole).map((name) => [name, path.join(whole, name)] as const);
});
const built = path.join(import.meta.dirname, '../dist/index.js');
const runProgram = promisify(execFile);
// They make a million calls, each of which a busy machine may take a millisecond for.
const patience = 1_500_000;

it.each(programs)('the test program %s ends without errors', { timeout: patience }, async (_, file) => {
  expect(native.probe(), 'npm run build').toEqual({ available: true });
  expect(existsSync(built), 'npm run build').toBe(true);
  // Fails where the program does, with what it said.
  const { stdout, stderr } = await runProgram(process.execPath, [file], { timeout: patience });
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^.+\n$/);
});

import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { native } from '@coll/native';
import { expect, it } from 'vitest';

// What `node build.mjs asan` and `tsan` run under sanitizers: programs of their own, on built packages.
const folder = path.join(import.meta.dirname, 'sanitized');
const built = path.join(import.meta.dirname, '../dist/index.js');
const runProgram = promisify(execFile);

it.each(readdirSync(folder))(
  '%s',
  async (script) => {
    expect(native.probe(), 'npm run build').toEqual({ available: true });
    expect(existsSync(built), 'npm run build').toBe(true);
    // Fails where the program does, with what it said.
    const { stdout, stderr } = await runProgram(process.execPath, [path.join(folder, script)], { timeout: 100_000 });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^.+\n$/);
  },
  120_000,
);

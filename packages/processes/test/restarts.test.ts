import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../..');
const conditions = '--conditions=@coll/source';
const fixture = path.join(import.meta.dirname, 'fixtures/restarted-rank.ts');

it('opens the group of a restart of coll run, and refuses what is left of the one before', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-restarts-'));
  const [begun, told] = [path.join(folder, 'begun'), path.join(folder, 'told')];
  const options = ['-n', '2', '--max-restarts', '1', '--timeout', '240', '--env', `NODE_OPTIONS=${conditions}`];
  const program = ['packages/cli/src/main.ts', 'run', ...options, fixture, begun, told];
  const { NODE_OPTIONS: _, ...env } = process.env;
  const launcher = spawn(process.execPath, ['--import', 'tsx', conditions, ...program], { cwd: root, env });
  const [stdout, stderr] = await Promise.all([text(launcher.stdout), text(launcher.stderr)]);
  expect(stderr).toBe('coll run: rank 1 exited with code 3; ended rank 0; restart 1 of 1\n');
  expect(stdout.trimEnd().split('\n').sort()).toEqual(['[0] generation 1: sum 3', '[1] generation 1: sum 3']);
  expect(JSON.parse(readFileSync(told, 'utf8'))).toMatchObject({
    name: 'UnavailableError',
    code: 'ERR_COLL_STORE',
    message: expect.stringMatching(/^generation 0 is over: rank 1 has come for generation 1; /),
  });
  rmSync(folder, { recursive: true });
});

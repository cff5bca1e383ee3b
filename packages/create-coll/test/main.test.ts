import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('../src/main.ts', import.meta.url));

it.each([
  [['my-project', '--kind', 'tensorflow'], /^create-coll: --kind must be one of tfjs, .*, got "tensorflow"\n/],
  [['my-project'], /^create-coll: --kind must be given\n\nUsage: npm create coll /],
  [['one', 'other', '--kind', 'tfjs'], /^create-coll: one folder must be given, got one, other\n/],
  [['--fast'], /^create-coll: Unknown option '--fast'/],
])('npm create coll with %j exits with 2, and prints what must be given', (args, message) => {
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', input: '' });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringMatching(message) });
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('all suites run under the test runner of Node', async () => {
  const fixture = new URL('./fixtures/under-node-test.ts', import.meta.url).pathname;
  const flags = ['--test-reporter=tap', '--test', fixture];
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, flags, { env, maxBuffer: 2 ** 26 });
  expect(stdout).toMatch(/# fail 0\n/);
  expect(Number(/# pass (\d+)/.exec(stdout)?.[1])).toBeGreaterThan(150);
});

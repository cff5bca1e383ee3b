import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Launcher, Running } from './launcher.js';

const launcher = new Launcher();
beforeAll(() => launcher.build([path.join(import.meta.dirname, 'fixtures/keyed-rank.ts')]));
afterAll(() => launcher.remove());

// The bundle lies elsewhere than the engine's binary.
const addon = path.join(import.meta.dirname, '../../../native/engine/build/release/coll_native.node');

const key = (...args: readonly string[]) => new Running(launcher.command('key', ...args), {}).outcome;

it('prints a new key each time', async () => {
  const [first, second] = await Promise.all([key(), key()]);
  expect(first).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^[\w-]{43}\n$/) });
  expect(second.stdout).not.toBe(first.stdout);
});

it('writes a key to a new file that only its user can read', async () => {
  const file = path.join(launcher.folder, 'new.key');
  expect(await key('--out', file)).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  const before = readFileSync(file, 'utf8');
  const { code, stderr } = await key('--out', file);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^coll key: ERR_COLL_VALUE: cannot write a new file .*EEXIST/);
  expect(readFileSync(file, 'utf8')).toBe(before);
});

it('refuses a file that others can read, before any rank starts', async () => {
  const file = path.join(launcher.folder, 'open.key');
  await key('--out', file);
  chmodSync(file, 0o644);
  const { code, stdout, stderr } = await launcher.run('--key-file', file, 'true');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^coll run: ERR_COLL_CLUSTER: the file of the job key, .* can be read by other users/);
});

it('runs a job whose key is in a file, and the key is in no output, record, command line or variable', async () => {
  const file = path.join(launcher.folder, 'job.key');
  await key('--out', file);
  const secret = readFileSync(file, 'utf8').trim();
  const records = path.join(launcher.folder, 'records');
  const program = ['--command', process.execPath, 'launcher/dist/keyed-rank.js'];
  const env = { COLL_NATIVE_PATH: addon, COLL_LOG: 'debug', COLL_RECORD_DIR: records };
  const { code, stdout, stderr } = await launcher.start(['-n', '2', '--key-file', file, ...program], { env }).outcome;
  expect({ code, sums: stdout.match(/sum of all ranks: 3/g)?.length }).toEqual({ code: 1, sums: 2 });
  expect(stderr).toContain('group opened');
  expect(stdout).toContain('a job key must be 32 or more');
  const recorded = readdirSync(records).map((name) => readFileSync(path.join(records, name), 'latin1'));
  expect(recorded).toHaveLength(2);
  for (const form of formsOf(secret)) {
    for (const text of [stdout, stderr, ...recorded]) expect(text).not.toContain(form);
  }
});

/** The key as text, and its bytes in other notations. */
function formsOf(secret: string): readonly string[] {
  const bytes = [Buffer.from(secret), Buffer.from(secret, 'base64url')];
  return [secret, ...bytes.flatMap((form) => [form.toString('hex'), form.toString('base64'), form.toString('latin1')])];
}

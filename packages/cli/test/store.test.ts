import { TcpStore } from '@coll/rendezvous';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Launcher, Running } from './launcher.js';

const launcher = new Launcher();
beforeAll(() => launcher.build());
afterAll(() => launcher.remove());

const jobKey = 'tests-only-4kQz9XvB7mLwR2';

function store(args: readonly string[], env: Record<string, string> = {}): Running {
  return new Running(launcher.command('store', ...args), { env: { ...process.env, ...env } });
}

it('serves a store with the variables that it prints, until it is ended', async () => {
  const running = store(['--print-env', '--job', "it's"], { COLL_JOB_KEY: '', COLL_JOB: '' });
  const [, address = '', key = ''] = await running.prints(
    /^export COLL_STORE=(tcp:\/\/127\.0\.0\.1:\d+)\nexport COLL_JOB='it'\\''s'\nexport COLL_JOB_KEY=([\w-]{43})\n$/,
  );
  await using member = await TcpStore.connect({ address, job: "it's", jobKey: key });
  expect(await member.add('arrived', 1)).toBe(1);
  running.child.kill('SIGTERM');
  expect(await running.outcome).toMatchObject({ code: 0, stderr: '' });
});

it('takes the job and its key from the variables, and then prints no secret', async () => {
  const running = store([], { COLL_JOB_KEY: jobKey, COLL_JOB: 'train' });
  const [, address = ''] = await running.prints(/^(tcp:\S+) serves the job train\n$/);
  await using member = await TcpStore.connect({ address, job: 'train', jobKey });
  expect(await member.add('arrived', 1)).toBe(1);
  running.child.kill('SIGINT');
  expect((await running.outcome).code).toBe(0);
});

it.each([
  [
    [],
    {},
    /^coll store: ERR_COLL_VALUE: COLL_JOB_KEY is not set, so no member could connect: make a key with `npx coll key`, .* --print-env/,
  ],
  [['--host', '0.0.0.0'], { COLL_JOB_KEY: jobKey }, /^coll store: ERR_COLL_VALUE: host 0\.0\.0\.0 means all addresses/],
])('refuses the options %j with the variables %j', async (args, env, message) => {
  const { code, stderr } = await store(args, { COLL_JOB_KEY: '', ...env }).outcome;
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});

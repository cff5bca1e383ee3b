import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dies, Launcher, Running } from './launcher.ts';

const launcher = new Launcher();
beforeAll(() => launcher.build());
afterAll(() => launcher.remove());

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
const commandOf = (words: readonly string[]) => words.map(quoted).join(' ');
const npmExec = (command: string) => ['npm', 'exec', '--offline', '--call', command];
const run = (ranks: number, script: string) => commandOf(launcher.command('run', '-n', `${ranks}`, 'sh', '-c', script));

const startNpm = (command: string) => new Running(npmExec(command), { cwd: launcher.folder });
const untilEnded = 'echo pid $$; while :; do sleep 0.05; done';
const message = 'coll run: npm, which started this launcher, has ended: ending';

// Who ends npm means what it has started.
describe.runIf(process.platform === 'linux').concurrent('a launcher that npm started', () => {
  it.each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)('ends with its ranks when npm is ended by %s', async (signal) => {
    const npm = startNpm(run(2, untilEnded));
    const [, first, second] = await npm.prints(/pid (\d+)[\s\S]*pid (\d+)/);
    npm.child.kill(signal);
    await dies(Number(first));
    await dies(Number(second));
    expect((await npm.outcome).stderr).toContain(`${message} ranks 0, 1`);
  });

  it('ends even if npm started it through other npm processes, or through a program that forwards no signals', async () => {
    launcher.write(
      'pass.mjs',
      `import { spawn } from 'node:child_process'; spawn('sh', ['-c', process.argv[2]], { stdio: 'inherit' });`,
    );
    const npm = startNpm(commandOf([process.execPath, 'pass.mjs', commandOf(npmExec(run(1, untilEnded)))]));
    const [, pid] = await npm.prints(/pid (\d+)/);
    npm.child.kill('SIGTERM');
    await dies(Number(pid));
    expect((await npm.outcome).stderr).toContain(`${message} rank 0`);
  });

  it('keeps running when npm ends if it has left the process group of npm', async () => {
    const npm = startNpm(`setsid ${run(1, 'echo begun; sleep 3; echo done')}`);
    await npm.prints(/begun/);
    npm.child.kill('SIGKILL');
    expect((await npm.outcome).stdout).toBe('[0] begun\n[0] done\n');
  });
});

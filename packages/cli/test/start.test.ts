import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Launcher, linesOf } from './launcher.ts';

const launcher = new Launcher();
beforeAll(() => launcher.build());
afterAll(() => launcher.remove());

const sorted = (text: string) => [...linesOf(text)].sort();
const printArguments = 'console.log(JSON.stringify([process.argv.slice(2), process.env.A, process.env.B]))';
const typescript = 'const rank: string | undefined = process.env["COLL_RANK"]; console.log("typed", rank);';

describe.concurrent('coll run', () => {
  it('sets the rank, the group size and the address of the store for each rank', async () => {
    const names = ['RANK', 'SIZE', 'LOCAL_RANK', 'LOCAL_SIZE', 'GENERATION', 'RESTART'];
    const print = `echo ${names.map((name) => `$COLL_${name}`).join(' ')} $COLL_STORE $COLL_JOB $COLL_JOB_KEY`;
    const { code, stdout, stderr } = await launcher.run('-n', '2', 'sh', '-c', print);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [first = '', second = ''] = sorted(stdout);
    const shared = / tcp:\/\/127\.0\.0\.1:\d+ run-[\w-]{36} [\w-]{43}$/;
    expect(first.replace(shared, '')).toBe('[0] 0 2 0 2 0 0');
    expect(second.replace(shared, '')).toBe('[1] 1 2 1 2 0 0');
    expect(shared.exec(first)?.[0]).toBe(shared.exec(second)?.[0]);
  });

  it('passes variables and arguments to the program, including arguments that look like its own', async () => {
    launcher.write('print.mjs', printArguments);
    const variables = ['--env', 'A=1', '--env', 'B=x=y'];
    const { stdout } = await launcher.run('-n', '1', ...variables, 'print.mjs', '--', '-n', '7', '--', 'a b');
    expect(stdout).toBe('[0] [["-n","7","--","a b"],"1","x=y"]\n');
  });

  it.each([
    [['-n', '0', 'true'], /'0' is invalid. It must be auto, or a whole number from 1 to 1024/],
    [['-n', '1', 'nowhere.mjs'], /^coll run: ERR_COLL_MODULE: there is no script .*nowhere.mjs/],
    [['--log-dir', '/dev/null/logs', 'true'], /^coll run: ERR_COLL_VALUE: --log-dir: .*cannot be written: .*ENOTDIR/],
    // In such a file system the recursive mkdir of Node tries again for ever.
    [['--log-dir', '/proc/none/logs', 'true'], /^coll run: ERR_COLL_VALUE: --log-dir: .*cannot be written/],
  ])('refuses %j before it starts any rank', async (args, message) => {
    const { code, stdout, stderr } = await launcher.run(...args);
    expect(stderr).toMatch(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('reports that temporary files cannot be written', async () => {
    const { code, stderr } = await launcher.start(['-n', '1', 'true'], { env: { TMPDIR: '/dev/null/none' } }).outcome;
    expect(stderr).toMatch(/^coll run: ERR_COLL_VALUE: cannot write temporary files: .*set TMPDIR/);
    expect(code).toBe(2);
  });

  it('runs TypeScript with the tsx of the project', async () => {
    mkdirSync(path.join(launcher.folder, 'project/node_modules'), { recursive: true });
    const tsx = path.join(import.meta.dirname, '../../../node_modules/tsx');
    symlinkSync(tsx, path.join(launcher.folder, 'project/node_modules/tsx'));
    launcher.write('project/typed.mts', typescript);
    const { stdout, stderr } = await launcher.run('-n', '1', 'project/typed.mts');
    expect({ stdout, stderr }).toEqual({ stdout: '[0] typed 0\n', stderr: '' });
  });

  it('runs TypeScript without tsx if Node can strip types, and otherwise reports what is missing', async () => {
    launcher.write('typed.mts', typescript);
    const { code, stdout, stderr } = await launcher.run('-n', '1', 'typed.mts');
    if ('typescript' in process.features && process.features.typescript) expect(stdout).toBe('[0] typed 0\n');
    else {
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /ERR_COLL_MODULE: .*typed.mts is TypeScript.*npm install tsx, or use a Node that strips types/,
      );
    }
  });

  it('runs commands with --command, even if their names look like scripts', async () => {
    chmodSync(launcher.write('tool.js', '#!/bin/sh\necho "tool $COLL_RANK"\n'), 0o755);
    expect(await launcher.run('-n', '1', '--command', './tool.js')).toEqual({
      code: 0,
      stdout: '[0] tool 0\n',
      stderr: '',
    });
  });

  it('reports which command cannot be started', async () => {
    const { code, stderr } = await launcher.run('-n', '1', 'no-such-command');
    expect(stderr).toMatch(
      /rank 0 could not be started: no command "no-such-command" was found; scripts have names such as train\.js or train\.ts\n/,
    );
    expect(code).toBe(127);
    launcher.write('not-executable', '');
    const notExecutable = await launcher.run('-n', '1', './not-executable');
    expect(notExecutable.stderr).toMatch(/rank 0 could not be started: "\.\/not-executable" may not be executed\n/);
    expect(notExecutable.code).toBe(126);
  });

  it('passes its stdin to rank 0 only', async () => {
    const running = launcher.start(['-n', '3', 'cat'], { stdio: ['pipe', 'pipe', 'pipe'] });
    running.child.stdin?.end('to rank 0\n');
    expect(await running.outcome).toEqual({ code: 0, stdout: '[0] to rank 0\n', stderr: '' });
  });

  it('refuses to start inside a rank of a launcher without --nested', async () => {
    const env = { OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '2' };
    const refused = await launcher.start(['-n', '1', 'true'], { env }).outcome;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /ERR_COLL_CLUSTER: this process is already rank 1 of a group that Open MPI started.*--nested/,
    );
    const nested = launcher.command('run', '-n', '1', '--nested', 'sh', '-c', 'echo $COLL_RANK of $COLL_SIZE');
    const own = await launcher.run('-n', '1', ...launcher.command('run', '-n', '1', 'true'));
    expect(own.stderr).toMatch(/this process is already rank 0 of a group that coll run started/);
    expect((await launcher.run('-n', '2', '--no-prefix', '--command', ...nested)).stdout).toBe(
      '[0] 0 of 1\n[0] 0 of 1\n',
    );
  });
});

describe.concurrent('the output of ranks', () => {
  it('arrives in whole lines, on stdout or stderr as printed by the rank', async () => {
    const print = 'printf a; sleep 0.1; printf "b\\n\\nc"; printf oh >&2; sleep 0.1; printf " no" >&2';
    expect(await launcher.run('-n', '1', 'sh', '-c', print)).toEqual({
      code: 0,
      stdout: '[0] ab\n[0] \n[0] c\n',
      stderr: '[0] oh no\n',
    });
  });

  it('stays in whole lines if several ranks print much at the same time', async () => {
    const count = 20_000;
    const line = 'a line of some length that is written by a rank'.repeat(3);
    const { stdout } = await launcher.run('-n', '3', 'sh', '-c', `yes "${line}" | head -n ${count}`);
    for (const rank of [0, 1, 2])
      expect(linesOf(stdout).filter((printed) => printed === `[${rank}] ${line}`).length).toBe(count);
    expect(linesOf(stdout).length).toBe(3 * count);
  });

  it('is also written to one file per rank with --log-dir', async () => {
    launcher.write(
      'print.sh',
      `trap "" TERM
      echo "out $COLL_RANK"
      touch "out-$COLL_RANK-$COLL_RESTART"
      until test -e "out-0-$COLL_RESTART"; do sleep 0.05; done
      sleep 0.2
      printf "err $COLL_RANK" >&2
      exit $COLL_RANK`,
    );
    const args = ['-n', '2', '--log-dir', 'some/logs', '--max-restarts', '1', '--grace', '60'];
    const { code, stdout } = await launcher.run(...args, 'sh', 'print.sh');
    expect(code).toBe(1);
    expect([...linesOf(stdout)].sort()).toEqual(['[0] out 0', '[0] out 0', '[1] out 1', '[1] out 1']);
    for (const rank of [0, 1])
      for (const name of [`rank-${rank}.log`, `rank-${rank}.restart-1.log`])
        expect(readFileSync(path.join(launcher.folder, 'some/logs', name), 'utf8')).toBe(`out ${rank}\nerr ${rank}\n`);
  });

  it('has no prefixes with --no-prefix, and no colours without a terminal', async () => {
    const print = 'printf "a line, colours: "; printf %s "$FORCE_COLOR"';
    const { stdout, stderr } = await launcher.run('-n', '12', '--no-prefix', 'sh', '-c', print);
    // With so many ranks Node would complain of listeners.
    expect(stderr).toBe('');
    expect(linesOf(stdout)).toEqual(Array.from({ length: 12 }, () => 'a line, colours: '));
  });

  it('is awaited only for a limited time after its rank has exited', async () => {
    // What has left the group cannot be ended, and holds the pipe open.
    const leave = "require('child_process').spawn('sleep', ['30'], { detached: true, stdio: 'inherit' }).unref()";
    launcher.write('leave.cjs', `console.log('left'); ${leave};`);
    expect(await launcher.run('-n', '1', 'leave.cjs')).toEqual({ code: 0, stdout: '[0] left\n', stderr: '' });
  });

  it('is complete in a log file that is slow to write', async () => {
    const count = 60_000;
    const slow = path.join(launcher.folder, 'slow');
    mkdirSync(slow);
    execFileSync('sh', ['-c', 'mkfifo rank-0.log'], { cwd: slow });
    spawn('sh', ['-c', 'exec 9<rank-0.log; sleep 2; wc -l <&9 >count'], { cwd: slow, stdio: 'ignore' });
    const { stdout } = await launcher.run('-n', '1', '--log-dir', 'slow', 'seq', '1', `${count}`);
    expect(linesOf(stdout)).toHaveLength(count);
    const counted = () => Number(readFileSync(path.join(slow, 'count'), 'utf8'));
    while (counted() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(counted()).toBe(count);
  });

  it('ends the run with an error if its reader closes the pipe', async () => {
    const running = launcher.start(['-n', '2', 'sh', '-c', 'while echo again; do :; done']);
    await running.prints(/again/);
    running.child.stdout?.destroy();
    const { code, stderr } = await running.outcome;
    expect(code).toBe(141);
    expect(stderr).toMatch(/^coll run: the output pipe was closed: write EPIPE\n$/);
  });
});

import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dies, Launcher, linesOf } from './launcher.ts';

const launcher = new Launcher();
beforeAll(() => launcher.build());
afterAll(() => launcher.remove());

const forEver = 'while :; do sleep 0.05; done';
const stubborn = `trap "echo asked" TERM; echo ready; ${forEver}`;

describe.concurrent('a signal to the launcher', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s asks ranks once to exit, and kills ranks that do not', async (signal, exitCode) => {
    const running = launcher.startWithClock(['-n', '1', '--grace', '600', 'sh', '-c', stubborn]);
    await running.prints(/ready/);
    running.child.kill(signal);
    await running.prints(/asked/);
    running.leap();
    const { code, stdout, stderr } = await running.outcome;
    expect({ code, stdout }).toEqual({ code: exitCode, stdout: '[0] ready\n[0] asked\n' });
    expect(stderr).toContain(`coll run: ${signal}: ending rank 0\n`);
  });

  it('gives ranks the grace period to clean up', async () => {
    const clean = `trap "sleep 0.3; echo saved; exit 0" TERM; echo ready; ${forEver}`;
    const running = launcher.start(['-n', '1', '--max-restarts', '3', '--grace', '60', 'sh', '-c', clean]);
    await running.prints(/ready/);
    running.child.kill('SIGTERM');
    expect(await running.outcome).toMatchObject({ code: 143, stdout: '[0] ready\n[0] saved\n' });
  });

  it('SIGINT kills the ranks at once when sent a second time', async () => {
    const running = launcher.start(['-n', '2', '--grace', '600', 'sh', '-c', stubborn]);
    await running.prints(/ready[\s\S]*ready/);
    running.child.kill('SIGINT');
    await running.prints(/asked[\s\S]*asked/);
    running.child.kill('SIGINT');
    expect((await running.outcome).code).toBe(130);
  });

  it('reaches the processes that ranks have started', async () => {
    const running = launcher.start(['-n', '1', 'sh', '-c', 'sleep 600 & echo "pid $!"; wait']);
    const [, pid] = await running.prints(/pid (\d+)/);
    running.child.kill('SIGTERM');
    await dies(Number(pid));
    expect((await running.outcome).code).toBe(143);
  });

  it('reaches the ranks of a nested launcher within the grace period of the outer launcher', async () => {
    const rank = ['sh', '-c', `trap "echo asked" TERM; echo pid $$; ${forEver}`];
    const inner = launcher.command('run', '-n', '1', '--nested', '--grace', '600', ...rank);
    const running = launcher.startWithClock(['-n', '1', '--grace', '600', '--command', ...inner]);
    const [, pid] = await running.prints(/pid (\d+)/);
    running.child.kill('SIGTERM');
    await running.prints(/asked/);
    running.leap();
    await dies(Number(pid));
    expect((await running.outcome).code).toBe(143);
  });

  it('SIGKILL ends the ranks too, including busy ranks and plain commands', async () => {
    launcher.write(
      'blocked.mjs',
      'console.log("pid", process.pid); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);',
    );
    const script = launcher.start(['-n', '2', 'blocked.mjs']);
    const command = launcher.start(['-n', '2', '--grace', '0.3', 'sh', '-c', `trap "" TERM; echo pid $$; ${forEver}`]);
    for (const running of [script, command]) {
      const [, first, second] = await running.prints(/pid (\d+)[\s\S]*pid (\d+)/);
      running.child.kill('SIGKILL');
      await dies(Number(first));
      await dies(Number(second));
    }
  });
});

describe.concurrent('a reader that stops reading the output', () => {
  beforeAll(() => {
    launcher.write(
      'print.mjs',
      `const print = () => {
        while (process.stdout.write('y\\n'.repeat(8192)));
        process.stderr.write('waits\\n');
      };
      process.stdout.on('drain', print);
      print();`,
    );
  });

  /** Starts ranks that print more than all pipes take, and waits until nobody takes more of it. */
  const start = async (...options: readonly string[]) => {
    const running = unread(['-n', '2', ...options, 'print.mjs']);
    await running.prints(/\[0\] waits/);
    await running.prints(/\[1\] waits/);
    return running;
  };

  it('does not keep an interrupted launcher from exiting', async () => {
    const { child, outcome } = await start('--grace', '0.5');
    child.kill('SIGTERM');
    expect((await outcome).code).toBe(143);
  });

  it('does not keep a launcher from exiting after a second interrupt, however long the grace period', async () => {
    const running = await start('--grace', '600');
    const { child, outcome } = running;
    child.kill('SIGINT');
    await running.prints(/SIGINT: ending/);
    child.kill('SIGINT');
    expect((await outcome).code).toBe(130);
  });

  it('does not keep a launcher from exiting after its timeout', async () => {
    const running = await start('--timeout', '9000', '--grace', '0.5');
    running.leap();
    expect((await running.outcome).code).toBe(124);
  });

  it.each([
    ['must end', 'sleep 600'],
    ['has ended', ''],
  ])(
    'does not keep a launcher from exiting after its timeout if its rank %s and the launcher has buffered the output',
    async (_, last) => {
      const rank = ['sh', '-c', `echo printed; echo waits >&2; ${last}`];
      const running = unread(['-n', '1', '--timeout', '9000', '--grace', '0.5', ...rank]);
      await running.prints(/waits/);
      running.leap();
      expect((await running.outcome).code).toBe(124);
    },
  );

  /** Starts a launcher whose output goes to a full pipe. */
  const unread = (args: readonly string[]) => {
    const pipe = fullPipe();
    const running = launcher.startWithClock(args, { stdio: ['ignore', pipe, 'pipe'] });
    void running.outcome.then(() => closeSync(pipe));
    return running;
  };

  let pipes = 0;
  /** The end to write to of a pipe that takes no byte more. */
  const fullPipe = () => {
    const file = path.join(launcher.folder, `pipe-${pipes++}`);
    execFileSync('sh', ['-c', 'mkfifo "$0"', file]);
    const pipe = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
    try {
      for (;;) writeSync(pipe, 'x');
    } catch {
      return pipe;
    }
  };
});

describe.concurrent('a rank started by coll run', () => {
  it('that fails ends the other ranks and is reported as the cause of the failure', async () => {
    launcher.write(
      'fail.sh',
      `if test $COLL_RANK = 1; then
        for i in $(seq 1 25); do echo "trouble $i" >&2; done
        exit 7
      fi
      trap "exit 9" TERM
      ${forEver}`,
    );
    const { code, stderr } = await launcher.run('-n', '3', 'sh', 'fail.sh');
    expect(code).toBe(7);
    const lines = linesOf(stderr.slice(stderr.indexOf('coll run:')));
    expect(lines).toEqual([
      'coll run: the last lines of rank 1 on stderr:',
      ...Array.from({ length: 20 }, (_, line) => `  | trouble ${line + 6}`),
      'coll run: rank 1 exited with code 7; ended ranks 0, 2',
    ]);
  });

  it.each(['PEER_FAILED', 'CLOSED'])(
    'that lost a peer is not reported as the cause of the failure, even if it exits before that peer: %s',
    async (how) => {
      launcher.write(
        `follow-${how}.sh`,
        `if test $COLL_RANK = 0; then
        echo $$ >pid-${how}
        echo "  code: 'ERR_COLL_${how}'," >&2
        exit 1
      fi
      until test -s pid-${how}; do sleep 0.01; done
      read -r first <pid-${how}
      # The launcher waits for two seconds, within which a busy machine may not start many programs.
      while kill -0 $first 2>/dev/null; do :; done
      test $COLL_RANK = 1 && exit 42
      ${forEver}`,
      );
      const { code, stderr } = await launcher.run('-n', '3', 'sh', `follow-${how}.sh`);
      expect(linesOf(stderr).at(-1)).toBe('coll run: rank 1 exited with code 42; ended rank 2');
      expect(code).toBe(42);
    },
  );

  it('that lost a peer is reported as the cause of the failure if no other rank fails', async () => {
    const follow = `test $COLL_RANK = 0 && echo ERR_COLL_PEER_FAILED >&2 && exit 3; ${forEver}`;
    const { code, stderr } = await launcher.run('-n', '2', 'sh', '-c', follow);
    expect(linesOf(stderr).at(-1)).toBe('coll run: rank 0 exited with code 3; ended rank 1');
    expect(code).toBe(3);
  });

  it('that hangs is reported as the cause of the failure if the error of another rank names it', async () => {
    launcher.write(
      'lost.mjs',
      [
        'if (process.env.COLL_RANK !== "0") setInterval(() => {}, 1000);',
        'else throw Object.assign(new Error("lost"), { code: "ERR_COLL_PEER_FAILED", rank: 2, operation: "all-reduce" });',
      ].join('\n'),
    );
    const { code, stderr } = await launcher.run('-n', '3', 'lost.mjs');
    expect(linesOf(stderr).at(-1)).toBe('coll run: rank 2 was lost: rank 0 exited with code 1; ended ranks 1, 2');
    expect(code).toBe(1);
  });

  it('that is killed gives the launcher the exit code that a shell would return', async () => {
    const { code, stderr } = await launcher.run('-n', '1', 'sh', '-c', 'kill -KILL $$');
    expect({ code, stderr }).toEqual({ code: 137, stderr: 'coll run: rank 0 was ended by SIGKILL\n' });
  });

  it('that exits successfully does not end the other ranks', async () => {
    launcher.write(
      'done.sh',
      `if test $COLL_RANK = 1; then echo $$ >pid-1
      else
        until test -s pid-1; do sleep 0.05; done
        while kill -0 $(cat pid-1) 2>/dev/null; do sleep 0.05; done
      fi
      echo done`,
    );
    const { code, stdout, stderr } = await launcher.run('-n', '2', 'sh', 'done.sh');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect([...linesOf(stdout)].sort()).toEqual(['[0] done', '[1] done']);
  });

  it('leaves no processes behind when it exits', async () => {
    const leave = `(trap "" TERM; ${forEver}) & echo "pid $!"`;
    const { code, stdout } = await launcher.run('-n', '1', '--grace', '0.3', 'sh', '-c', leave);
    expect(code).toBe(0);
    await dies(Number(/pid (\d+)/.exec(stdout)?.[1]));
  });

  it('that exceeds the timeout is ended and named in the message', async () => {
    launcher.write(
      'wait.sh',
      `if test $COLL_RANK = 1; then
        echo $$ >pid-wait
        exit
      fi
      until test -s pid-wait; do sleep 0.05; done
      while kill -0 $(cat pid-wait) 2>/dev/null; do sleep 0.05; done
      echo over
      sleep 600`,
    );
    const running = launcher.startWithClock(['-n', '3', '--timeout', '9000', '--max-restarts', '3', 'sh', 'wait.sh']);
    await running.prints(/over/);
    running.leap();
    const { code, stderr } = await running.outcome;
    expect(stderr).toBe('coll run: timed out after 9000 seconds; still running: ranks 0, 2\n');
    expect(code).toBe(124);
  });

  it('that restarts repeatedly is still ended by the timeout', async () => {
    const again = ['--max-restarts', '1000000', '--timeout', '9000', 'sh', '-c', 'exit 1'];
    const running = launcher.startWithClock(['-n', '1', ...again]);
    await running.prints(/restart 3 of/);
    running.leap();
    expect((await running.outcome).code).toBe(124);
  });

  it('that has exited is not listed as running at the timeout, even if its child processes still run', async () => {
    const watch = 'while kill -0 $$ 2>/dev/null; do sleep 0.05; done; echo over';
    const leave = `trap "" TERM; (${watch}; ${forEver}) &`;
    const args = ['-n', '1', '--timeout', '9000', '--grace', '600', 'sh', '-c', leave];
    const running = launcher.startWithClock(args);
    await running.prints(/over/);
    running.leap();
    const { code, stderr } = await running.outcome;
    expect(stderr).toBe(
      'coll run: timed out after 9000 seconds; all ranks have ended, but a process that they started still runs, or nobody reads their output\n',
    );
    expect(code).toBe(124);
  });
});

describe.concurrent('a group started by coll run', () => {
  it('restarts as a whole, with the next generation number', async () => {
    launcher.write(
      'restart.sh',
      `echo "$COLL_GENERATION $COLL_RESTART"
      test $COLL_RANK = 1 || touch "restart-$COLL_RESTART"
      test $COLL_RESTART = 2 && exit 0
      test $COLL_RANK = 1 || sleep 600
      until test -e "restart-$COLL_RESTART"; do sleep 0.05; done
      exit 3`,
    );
    const { code, stdout, stderr } = await launcher.run('-n', '2', '--max-restarts', '2', 'sh', 'restart.sh');
    expect(code).toBe(0);
    expect([...linesOf(stdout)].sort()).toEqual(['[0] 0 0', '[0] 1 1', '[0] 2 2', '[1] 0 0', '[1] 1 1', '[1] 2 2']);
    const summary = (restart: number) => `coll run: rank 1 exited with code 3; ended rank 0; restart ${restart} of 2`;
    expect(linesOf(stderr)).toEqual([summary(1), summary(2)]);
  });

  it('fails for good when no restarts are left', async () => {
    const { code, stderr } = await launcher.run('-n', '1', '--max-restarts', '1', 'sh', '-c', 'exit 3');
    expect(code).toBe(3);
    expect(linesOf(stderr)).toEqual([
      'coll run: rank 0 exited with code 3; restart 1 of 1',
      'coll run: rank 0 exited with code 3',
    ]);
  });
});

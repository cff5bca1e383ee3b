import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { dies, linesOf, Running } from './launcher.js';

const launcher = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const replicas = fileURLToPath(new URL('./fixtures/tried.mjs', import.meta.url));
const program = fileURLToPath(new URL('./fixtures/tried-program.mjs', import.meta.url));

const started: Running[] = [];
afterAll(() => {
  for (const { child } of started) child.kill('SIGTERM');
});

function start(...args: readonly string[]): Running {
  const running = new Running([process.execPath, launcher, 'try', ...args], {});
  started.push(running);
  return running;
}

/** Tries the replicas of tried.mjs that go this way, with one replica and with two. */
const tried = (...args: readonly string[]) => start('--replicas', '1,2', '--seconds', '0.5', replicas, ...args).outcome;

async function figuresOf(...args: readonly string[]) {
  const { code, stdout, stderr } = await tried('--json', ...args);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'coll try: 1 replica for 0.5 s\ncoll try: 2 replicas for 0.5 s\n',
  });
  return JSON.parse(stdout);
}

const measured = {
  samplesPerSecond: expect.any(Number),
  stepsPerSecond: expect.any(Number),
  coresBusy: expect.any(Number),
  exchange: expect.any(Number),
  waiting: expect.any(Number),
  endedEarly: false,
};

describe.concurrent('coll try', () => {
  it.each([
    ['report samples', 'reports', measured],
    ['block their threads', 'blocks', measured],
    ['make no collectives', 'apart', { ...measured, exchange: 0, waiting: 0 }],
    ['return before the time is over', 'returns', { ...measured, endedEarly: true }],
  ])('measures replicas that %s', async (_, way, expected) => {
    const { runs, unit, fastest, verdict } = await figuresOf(way, '4');
    expect({ runs, unit }).toMatchObject({ runs: [expected, expected], unit: 'samples' });
    expect(runs.map((run: { readonly replicas: number }) => run.replicas)).toEqual([1, 2]);
    for (const { samplesPerSecond, memoryBytes } of runs) {
      expect(samplesPerSecond).toBeGreaterThan(0);
      expect(memoryBytes).toBeGreaterThan(1e7);
    }
    expect([1, 2]).toContain(fastest);
    expect(verdict).toMatch(/2 replicas are fastest|more than 1 replica/);
  });

  it('prints a table and a verdict, and no output of the replicas', async () => {
    const { code, stdout } = await tried('reports', '4');
    const [titles, first, second, empty, verdict] = linesOf(stdout);
    expect(titles).toMatch(/^replicas +samples\/s +samples\/step +speed-up +waiting +exchange +cores busy +memory$/);
    expect([first, second]).toEqual([expect.stringMatching(/^ +1 .* MB$/), expect.stringMatching(/^ +2 .* MB$/)]);
    expect([empty, verdict, code]).toEqual(['', expect.stringMatching(/ replica/), 0]);
    expect(stdout).not.toContain('process');
  });

  it('passes arguments on, and prints the output of the replicas on stderr if it is asked to', async () => {
    const { stdout, stderr } = await tried('-v', '--json', 'reports', '4', '{"epochs":[1]}', 'text');
    expect(stderr).toMatch(/^\[0\] process \d+: reports \[4,\{"epochs":\[1\]\},"text"\]$/m);
    expect(stderr).toMatch(/^\[1\] process/m);
    expect(JSON.parse(stdout)).toMatchObject({ runs: [measured, measured] });
  });

  it('says what counts as a step, and prints the last lines, if the module returns without one', async () => {
    const { code, stdout, stderr } = await tried('returnsAtOnce');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /ERR_COLL_REPLICA: the module returned, but no step was counted: .*context\.report\(\{ samples \}\)/,
    );
    expect(stderr).toMatch(/^ {2}\| \[0\] process \d+: /m);
  });

  it.each([
    ['waits for ever', 'waits'],
    ['spins for ever', 'spins'],
    ['makes steps that nobody counts', 'steps'],
  ])('ends a run that makes no step because it %s', async (_, way) => {
    const { code, stdout, stderr } = await tried('--timeout', '1', way);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/ERR_COLL_DEADLINE: no step was counted within 1 s: .* pass larger --timeout$/m);
  });

  it('prints what it has measured, the last output and the error if a run fails', async () => {
    const { code, stdout, stderr } = await tried('throws');
    expect(code).toBe(1);
    expect(linesOf(stdout)).toEqual([expect.stringMatching(/^replicas/), expect.stringMatching(/^ +1 /)]);
    expect(stderr).toMatch(/the last lines of the run with 2 replicas:\n/);
    expect(stderr).toMatch(/^ {2}\| \[[01]\] about to fail$/m);
    expect(stderr).toMatch(/\ncoll try: the run with 2 replicas failed: TypeError: replica [01]: no good\n$/);
  });

  it('names strategy.run if the module is a program that makes a strategy', async () => {
    const { code, stderr } = await start(program).outcome;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /ERR_COLL_CONTEXT: .*; pass the module of the replica function, the one whose URL strategy\.run gets, instead of the program that makes a strategy$/m,
    );
    const library = await start(fileURLToPath(new URL('../src/arguments.ts', import.meta.url))).outcome;
    expect(library.stderr).toMatch(
      /ERR_COLL_MODULE: .*exports no function called.*; pass the module of the replica function/,
    );
  });

  it('refuses a module that does not exist', async () => {
    const { code, stderr } = await start('nowhere.mjs').outcome;
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        /^coll try: ERR_COLL_MODULE: there is no module .*nowhere\.mjs: pass the file of a/,
      ),
    });
  });

  it.each([
    ['SIGINT', 130, /^coll try: SIGINT: ending the run with 1 replica$/m],
    ['SIGKILL', null, /./],
  ] as const)('leaves no process behind after %s', async (signal, code, message) => {
    const running = start('-v', replicas, 'spins');
    const [, pid] = await running.prints(/process (\d+): spins/);
    running.child.kill(signal);
    const outcome = await running.outcome;
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toMatch(message);
    await dies(Number(pid));
  });
});

import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Launcher } from '../launcher.ts';
import { guiltyRanks, type Mode, type Scenario, scenarioOf } from './fault.ts';
import { runFault } from './run-fault.ts';

/** What `coll trace` has read from the records of one job. */
export interface Finding {
  readonly scenario: Scenario;
  readonly sentence: string;
  readonly named: readonly number[];
  /** Whether a guilty rank was named; if nothing goes wrong, whether none was. */
  readonly isFound: boolean;
  /** Whether an innocent rank was named. */
  readonly isUnjust: boolean;
}

const execute = promisify(execFile);

/** Runs a job for each seed, some at a time, and reads its records with `coll trace`, which sees nothing else. */
export async function* traceFaults(
  launcher: Launcher,
  seeds: readonly number[],
  modes: readonly Mode[],
  { atOnce = 4, keep = false }: { readonly atOnce?: number; readonly keep?: boolean } = {},
): AsyncGenerator<Finding> {
  const left = [...seeds];
  const running = new Map<number, Promise<{ readonly seed: number; readonly finding: Finding }>>();
  const begin = () => {
    const seed = left.shift();
    if (seed === undefined) return;
    const find = async () => ({ seed, finding: await traceFault(launcher, scenarioOf(seed, modes), keep) });
    running.set(seed, find());
  };
  for (let count = 0; count < atOnce; count++) begin();
  while (running.size > 0) {
    const { seed, finding } = await Promise.race(running.values());
    running.delete(seed);
    begin();
    yield finding;
  }
}

async function traceFault(launcher: Launcher, scenario: Scenario, keep: boolean): Promise<Finding> {
  const folder = await runFault(launcher, scenario);
  const [file = '', ...args] = launcher.command('trace', '--json', path.join(folder, 'records'));
  // The exit code is 1 if there are no records, as after a job in which nothing went wrong.
  const { stdout } = await execute(file, args, { env: { PATH: process.env['PATH'] } }).catch(
    (error: { readonly stdout: string }) => error,
  );
  const { verdict } = (stdout ? JSON.parse(stdout) : {}) as {
    readonly verdict?: { readonly kind: string; readonly ranks: readonly number[]; readonly sentence: string };
  };
  const { kind, ranks = [], sentence = 'There are no records.' } = verdict ?? {};
  // To be slow is no fault.
  const named = kind === 'slow' ? [] : ranks;
  const guilty = guiltyRanks(scenario);
  if (!keep) rmSync(folder, { recursive: true });
  return {
    scenario,
    sentence: keep ? `${sentence} (${folder})` : sentence,
    named,
    isFound: guilty.length === 0 ? named.length === 0 : named.some((rank) => guilty.includes(rank)),
    isUnjust: named.some((rank) => !guilty.includes(rank)),
  };
}

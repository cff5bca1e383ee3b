import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { familyOf, isRunning, type Running } from '../foreign-load.js';
import type { Command } from './commands.js';

/** The output of the first process, and whether the processes were killed because it printed nothing more. */
export interface Output {
  readonly text: string;
  readonly isHung: boolean;
}

// mpirun ends its ranks and removes its files within this time, unless it hangs as well.
const graceMillis = 5000;

/**
 * Runs related processes until all have ended. If one fails, the others are ended. If the first one prints
 * nothing for `silenceSeconds`, all are killed with their descendants.
 * @throws Error with the output of a failed process
 */
export async function runCommands(name: string, commands: readonly Command[], silenceSeconds: number): Promise<Output> {
  const children = commands.map(start);
  const end = () => {
    for (const child of children) child.kill();
    for (const { scratch } of commands) if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  };
  process.once('exit', end);
  const silence = watchSilence(children, silenceSeconds);
  try {
    const outputs = await Promise.all(children.map((child) => ended(name, child, silence)));
    return { text: outputs[0] as string, isHung: silence.isHung() };
  } finally {
    silence.end();
    end();
    process.off('exit', end);
  }
}

interface Silence {
  isHung(): boolean;
  end(): void;
}

/** Ends all processes if the first one prints nothing for `seconds`. */
function watchSilence(children: readonly ChildProcess[], seconds: number): Silence {
  let isHung = false;
  let grace: NodeJS.Timeout | undefined;
  const limit = setTimeout(() => {
    isHung = true;
    // Collects the descendants first: orphans get another parent.
    const family = children.flatMap(({ pid }) => (pid === undefined ? [] : familyOf(pid)));
    for (const child of children) child.kill();
    grace = setTimeout(() => killAll(children, family), graceMillis);
  }, seconds * 1000);
  children[0]?.stdout?.on('data', () => limit.refresh());
  return {
    isHung: () => isHung,
    end: () => {
      clearTimeout(limit);
      clearTimeout(grace);
    },
  };
}

function killAll(children: readonly ChildProcess[], family: readonly Running[]): void {
  for (const child of children) child.kill('SIGKILL');
  for (const member of family.filter(isRunning)) {
    try {
      process.kill(member.pid, 'SIGKILL');
    } catch {
      // The process has ended.
    }
  }
}

function start({ argv: [program, ...args], env }: Command): ChildProcess {
  return spawn(program as string, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function ended(name: string, child: ChildProcess, silence: Silence): Promise<string> {
  const [code, output, errors] = await Promise.all([
    new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode, signal) => resolve(exitCode ?? signal));
    }),
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr as NonNullable<typeof child.stderr>),
  ]);
  if (code !== 0 && !silence.isHung()) throw new Error(`${name} ended with ${code}:\n${errors}${output}`);
  return output;
}

import { spawn } from 'node:child_process';

/** How a program ended. */
export interface Ended {
  /** Undefined if it was killed at the time limit. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** Everything that the program printed to stderr. */
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd: string;
  /** Environment variables in addition to those of the user's shell. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default: 60. */
  readonly seconds?: number;
}

/** Runs a program to its end. A program that exceeds the time limit is killed with all processes that it started. */
export function runProgram(
  [command, ...args]: readonly [string, ...string[]],
  { cwd, env = {}, seconds = 60 }: ProgramOptions,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...plainEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
      });
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, seconds * 1000);
    child.once('error', (error) => {
      clearTimeout(limit);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(limit);
      resolve({ code: isLate ? undefined : (code ?? 1), ...texts });
    });
  });
}

/** The environment without the variables of npm, Node and coll, as in the shell of a user. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const isForeign = (name: string) => /^(npm_|NODE_|COLL_|VITEST)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name)));
}

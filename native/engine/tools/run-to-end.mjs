import { spawnSync } from 'node:child_process';

const longestCommand = 200;

/** Thrown for a command that failed; its output has been shown. `how` it ended, as in "ended with 1", and what it had printed if quiet. */
export class CommandFailed extends Error {
  constructor(message, { how = '', output = '' } = {}) {
    super(message);
    this.how = how;
    this.output = output;
  }
}

/** Runs a command. `quiet` shows its output only if it failed or warned, and returns it; `showsProgress` does so with stderr only. */
export function runToEnd(command, args, { quiet = false, showsProgress = false, env, cwd, timeoutSeconds } = {}) {
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    stdio: ['inherit', quiet ? 'pipe' : 'inherit', quiet || showsProgress ? 'pipe' : 'inherit'],
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
    env: { ...process.env, ...env },
    cwd,
    ...(timeoutSeconds !== undefined && { timeout: timeoutSeconds * 1000, killSignal: 'SIGKILL' }),
  });
  const output = `${stdout ?? ''}${stderr ?? ''}`;
  if (status !== 0 || /\bwarning:/.test(output)) process.stderr.write(output);
  if (status === 0) return output;
  const how =
    error?.code === 'ETIMEDOUT' ? `ran longer than ${timeoutSeconds} s` : `ended with ${status ?? signal ?? error}`;
  throw new CommandFailed(`${[command, ...args].join(' ').slice(0, longestCommand)} ${how}`, { how, output });
}

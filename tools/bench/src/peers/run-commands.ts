import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Command } from './commands.js';

const limitMillis = 10 * 60_000;

/**
 * Runs processes that belong together until all have ended; what the first one prints. One that fails ends the others.
 * @throws Error with what it said
 */
export async function runCommands(name: string, commands: readonly Command[]): Promise<string> {
  const children = commands.map(start);
  const end = () => {
    for (const child of children) child.kill();
    for (const { scratch } of commands) if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  };
  const timer = setTimeout(end, limitMillis);
  process.once('exit', end);
  try {
    const outputs = await Promise.all(children.map((child) => ended(name, child)));
    return outputs[0] as string;
  } finally {
    end();
    clearTimeout(timer);
    process.off('exit', end);
  }
}

function start({ argv: [program, ...args], env }: Command): ChildProcess {
  return spawn(program as string, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function ended(name: string, child: ChildProcess): Promise<string> {
  const [code, output, errors] = await Promise.all([
    new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode, signal) => resolve(exitCode ?? signal));
    }),
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr as NonNullable<typeof child.stderr>),
  ]);
  if (code !== 0) throw new Error(`${name} ended with ${code}:\n${errors}${output}`);
  return output;
}

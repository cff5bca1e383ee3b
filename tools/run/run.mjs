import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

const killAfterSeconds = 5;
const orphanCheckMilliseconds = 500;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const codeOf = (signal) => 128 + constants.signals[signal];

/**
 * Runs a command in the root folder until it ends. A signal that reaches us reaches the command, which cannot outlive it.
 * `code` is what the command exited with, counted as shells do; `stoppedWith` is the code for a signal sent to us.
 */
export async function run([command, ...args], { collectOutput = false } = {}) {
  const stdio = collectOutput ? 'pipe' : 'inherit';
  const child = spawn(command, args, { cwd: root, stdio: ['inherit', stdio, stdio] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  let stoppedWith;
  const stop = (signal) => {
    stoppedWith ??= codeOf(signal);
    // Ctrl-C in a terminal has reached the command too, and many programs take a second one as "do not clean up".
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    setTimeout(() => child.kill('SIGKILL'), killAfterSeconds * 1000).unref();
  };
  for (const signal of signals) process.on(signal, stop);
  // npm hands a SIGTERM to its shell only, which dies and leaves us behind.
  const parent = process.ppid;
  const orphanCheck = setInterval(() => {
    if (process.ppid !== parent) stop('SIGTERM');
  }, orphanCheckMilliseconds).unref();
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => resolve(exitCode ?? codeOf(signal)));
  });
  clearInterval(orphanCheck);
  for (const signal of signals) process.off(signal, stop);
  return { code, stoppedWith, output };
}

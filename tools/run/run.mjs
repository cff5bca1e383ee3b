import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { cpuSecondsOfChildren } from './cpu-seconds.mjs';

export const root = path.resolve(import.meta.dirname, '../..');

const killAfterSeconds = 5;
const orphanCheckMilliseconds = 500;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const codeOf = (signal) => 128 + constants.signals[signal];
const hasProcessGroups = process.platform !== 'win32';

/**
 * Runs a command in the root folder until it ends. A signal that reaches this process is passed on, and the command cannot outlive it.
 * With `onOutput` the command runs in the background: `onOutput` gets what it prints, and a signal ends the processes that it started, too.
 * `abort` ends it early, `name` is what measure.mjs calls it. Returns the exit `code`, counted as shells do, the `output`, and as `stoppedWith` the code of a signal to this process.
 */
export async function run([command, ...args], { onOutput, abort, name = command } = {}) {
  const begin = performance.now();
  const isBackground = onOutput !== undefined;
  const isGroup = isBackground && hasProcessGroups;
  const stdio = isBackground ? ['ignore', 'pipe', 'pipe'] : 'inherit';
  const child = spawn(command, args, { cwd: root, stdio, detached: isGroup });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text;
      onOutput(text);
    });
  }

  let killTimer;
  const end = (signal) => {
    kill(child, signal, isGroup);
    killTimer ??= setTimeout(() => kill(child, 'SIGKILL', isGroup), killAfterSeconds * 1000).unref();
  };
  let stoppedWith;
  const stop = (signal) => {
    stoppedWith ??= codeOf(signal);
    // In a terminal, Ctrl-C also reaches a command in the foreground, and many programs treat a second signal as "do
    // not clean up".
    if (isBackground || signal !== 'SIGINT' || !process.stdin.isTTY) end(signal);
  };
  const endEarly = () => end('SIGTERM');
  for (const signal of signals) process.on(signal, stop);
  abort?.addEventListener('abort', endEarly);
  // npm forwards SIGTERM only to its shell, which ends and leaves this process running.
  const parent = process.ppid;
  const orphanCheck = setInterval(() => {
    if (process.ppid !== parent) stop('SIGTERM');
  }, orphanCheckMilliseconds).unref();

  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    // Until another child ends, the added time belongs to this child.
    child.once('exit', () => record(name, (performance.now() - begin) / 1000));
    child.once('close', (exitCode, signal) => resolve(exitCode ?? codeOf(signal)));
  });
  clearInterval(orphanCheck);
  clearTimeout(killTimer);
  abort?.removeEventListener('abort', endEarly);
  for (const signal of signals) process.off(signal, stop);
  return { code, stoppedWith, output };
}

let cpuSecondsBefore = 0;

/** Records the times of an ended command for measure.mjs. */
function record(name, wallSeconds) {
  if (process.env.COLL_MEASURE === undefined) return;
  const all = cpuSecondsOfChildren();
  const cpuSeconds = all - cpuSecondsBefore;
  cpuSecondsBefore = all;
  appendFileSync(process.env.COLL_MEASURE, `${JSON.stringify({ name, wallSeconds, cpuSeconds })}\n`);
}

/** Sends a signal to a command and, with `isGroup`, to all processes that it started. */
function kill(child, signal, isGroup) {
  if (!isGroup) {
    child.kill(signal);
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

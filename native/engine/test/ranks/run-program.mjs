import { spawn } from 'node:child_process';

/** Runs a script in a process of its own: how it ended, what it printed, and when, in milliseconds since it was started. */
export function runProgram(script, args) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const killer = setTimeout(() => child.kill('SIGKILL'), 100_000);
  let output = '';
  let printedAt;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      printedAt ??= performance.now();
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(killer);
      resolve({ code, signal, output, millisAfterPrint: performance.now() - printedAt });
    });
  });
}

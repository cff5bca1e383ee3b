import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const launcherProgram = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/**
 * Runs a fixture whose last rank arrives late under `coll run`. Returns what the launcher and the ranks print. The fixture gets `how` and
 * the name of a file: the late rank waits for this file, which is written after the launcher has printed `sentence`. On a busy machine, ranks
 * that are still joining may stall before.
 */
export async function stalledRun(fixture: string, how: string, ranks: number, sentence: RegExp) {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-stalls-'));
  const come = path.join(folder, 'come');
  const options = ['-n', String(ranks), '--stall-seconds', '0.5', '--timeout', '240'];
  const program = [launcherProgram, 'run', ...options, fixture, how, come];
  const launcher = spawn(process.execPath, program, { env });
  let output = '';
  launcher.stderr.setEncoding('utf8').on('data', (part: string) => {
    output += part;
    if (sentence.test(output)) writeFileSync(come, '');
  });
  const [stdout, stderr] = await Promise.all([text(launcher.stdout), text(launcher.stderr)]);
  rmSync(folder, { recursive: true });
  return { stderr, lines: stdout.trimEnd().split('\n').sort() };
}

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const launcher = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
const program = fileURLToPath(new URL('./fixtures/prints.ts', import.meta.url));

async function outputOf(...options: readonly string[]) {
  const args = [launcher, 'run', '-n', '2', ...options, program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  return { lines: stdout.trimEnd().split('\n').sort(), greetings: stderr.match(/^.*Hi, looks like you are/gm) };
}

describe('two processes with two threads each', () => {
  it('label lines with the rank and the replica, and greet once', async () => {
    const { lines, greetings } = await outputOf();
    expect(lines).toEqual(['[0.0] trains', '[0.1] trains', '[0] ended', '[1.2] trains', '[1.3] trains', '[1] ended']);
    expect(greetings).toEqual(['[0.0] Hi, looks like you are']);
  });

  it('print plain lines with --no-prefix', async () => {
    const { lines, greetings } = await outputOf('--no-prefix');
    expect(lines).toEqual(['ended', 'ended', 'trains', 'trains', 'trains', 'trains']);
    expect(greetings).toEqual(['Hi, looks like you are']);
  });
});

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../..');
const sources = ['--import', 'tsx', '--conditions=@coll/source'];
const sentence =
  /^coll run: stalled: rank 0 in all-reduce sum \(collective \d+\) for \d+ seconds, rank 1 has not come$/m;
const fixture = path.join(import.meta.dirname, 'fixtures/late-worker.ts');
const options = ['-n', '2', '--stall-seconds', '0.5', '--timeout', '40'];

it.each(['allReduce', 'allReduceSync'])(
  'tells coll run which worker waits for which in %s',
  async (how) => {
    const { NODE_OPTIONS: _, ...env } = process.env;
    const folder = mkdtempSync(path.join(tmpdir(), 'coll-stalls-'));
    const come = path.join(folder, 'come');
    const conditions = ['--env', 'NODE_OPTIONS=--conditions=@coll/source'];
    const program = ['packages/cli/src/main.ts', 'run', ...options, ...conditions, fixture, how, come];
    const launcher = spawn(process.execPath, [...sources, ...program], { cwd: root, env });
    let told = '';
    launcher.stderr.setEncoding('utf8').on('data', (text: string) => {
      told += text;
      if (sentence.test(told)) writeFileSync(come, '');
    });
    const [stdout, stderr] = await Promise.all([text(launcher.stdout), text(launcher.stderr)]);
    rmSync(folder, { recursive: true });
    expect(stderr).toMatch(sentence);
    expect(stdout.trimEnd().split('\n').sort()).toEqual(['[0] sum 2', '[1] sum 2']);
  },
  60_000,
);

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../..');
const sources = ['--import', 'tsx', '--conditions=@coll/source'];
const sentence =
  /^coll run: stalled: ranks 0, 1 in all-reduce sum \(collective 0\) for \d+ seconds, rank 2 has not come$/m;
const fixture = path.join(import.meta.dirname, 'fixtures/late-rank.ts');
const options = ['-n', '3', '--stall-seconds', '0.5', '--timeout', '40'];

it.each(['run', 'runSync'])(
  'tells coll run who waits for whom in %s',
  async (how) => {
    const { NODE_OPTIONS: _, ...env } = process.env;
    const folder = mkdtempSync(path.join(tmpdir(), 'coll-stalls-'));
    const come = path.join(folder, 'come');
    const conditions = ['--env', 'NODE_OPTIONS=--conditions=@coll/source'];
    const program = ['packages/cli/src/main.ts', 'run', ...options, ...conditions, fixture, how, come];
    const launcher = spawn(process.execPath, [...sources, ...program], { cwd: root, env });
    // On a busy machine, ranks that are still opening the group may stall before.
    let told = '';
    launcher.stderr.setEncoding('utf8').on('data', (text: string) => {
      told += text;
      if (sentence.test(told)) writeFileSync(come, '');
    });
    const [stdout, stderr] = await Promise.all([text(launcher.stdout), text(launcher.stderr)]);
    rmSync(folder, { recursive: true });
    expect(stderr).toMatch(sentence);
    expect(stdout.trimEnd().split('\n').sort()).toEqual(['[0] sum 3', '[1] sum 3', '[2] sum 3']);
  },
  60_000,
);

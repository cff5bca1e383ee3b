import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./main.js', import.meta.url));
const launcher = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));

async function linesOf(...command: readonly string[]): Promise<string[]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command);
  expect(stderr).toBe('');
  return stdout.split('\n');
}

/** What the search prints. How fast the replicas are depends on the machine. */
function found(replicas: number, label = '') {
  const line = (pattern: string) => expect.stringMatching(new RegExp(`^${label}${pattern}$`));
  const shares = Array.from({ length: replicas }, (_, replica) =>
    line(`replica ${replica} spends \\d+ % of its time in evaluations`),
  );
  return [
    line('after \\d+ generations, the pole stands for [3-6]\\.\\d of 7 seconds'),
    line('an evaluation takes \\d+\\.\\d µs'),
    ...shares,
    line('one replica takes \\d+\\.\\d\\d times as long, for the same network'),
    '',
  ];
}

describe('the evolution strategy', () => {
  it('finds the same network with three threads, whose parts differ in length, as with one', async () => {
    expect(await linesOf(program, '3')).toEqual(found(3));
  });

  it('finds the same network in two processes', async () => {
    expect(await linesOf(launcher, 'run', '-n', '2', program, '1')).toEqual(found(2, '\\[0\\] '));
  });
});

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./main.js', import.meta.url));
const launcher = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));

/** The mean points of each of three lessons with 300 games. Expects that each replica prints its shares once per lesson. */
async function scoresOf(replicas: number, ...command: readonly string[]): Promise<number[]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command);
  expect(stderr).toBe('');
  const shares = /replica (\d): learning \d+ %, playing \d+ %, gathering games \d+ %, sending weights \d+ %$/gm;
  const printed = [...stdout.matchAll(shares)].map(([, replica]) => Number(replica));
  expect(printed.sort()).toEqual(Array.from({ length: 3 * replicas }, (_, index) => Math.floor(index / 3)));
  return [...stdout.matchAll(/lesson \d: \d{3,} games with (\d+) points on average$/gm)].map(([, score]) =>
    Number(score),
  );
}

describe('actors and a learner', () => {
  it.each([
    ['two threads', 2, [program, '2', '3', '300']],
    ['one thread', 1, [program, '1', '3', '300']],
    ['two processes with one thread each', 2, [launcher, 'run', '-n', '2', program, '1', '3', '300']],
  ])('make more points from lesson to lesson in %s, because the network stays', async (_, replicas, command) => {
    const scores = await scoresOf(replicas, ...command);
    expect(scores).toHaveLength(3);
    // Without a network that has learned, games have about 3,000 points.
    expect(scores.at(-1)).toBeGreaterThan(Math.max(4500, scores[0] as number));
  });
});

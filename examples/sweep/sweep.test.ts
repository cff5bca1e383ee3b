import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const programOf = (example: string) => fileURLToPath(new URL(`../${example}/main.js`, import.meta.url));

async function linesOf(example: string, ...args: readonly string[]): Promise<string[]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [programOf(example), ...args]);
  expect(stderr).toBe('');
  return stdout.split('\n');
}

it.each([1, 2, 3])('a sweep over parameters finds the best one with %i threads', async (threads) => {
  expect(await linesOf('sweep', String(threads))).toEqual(['rate 1.48: loss 1.6e-10', '']);
});

it('map-costs prints the cost of each call', async () => {
  const lines = await linesOf('map-costs', '2', '5');
  expect(lines.slice(0, -1)).toEqual(new Array(9).fill(expect.stringMatching(/^ *\d+\.\d µs {2}\w/)));
});

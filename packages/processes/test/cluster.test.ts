import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('members in workers of node:cluster each listen at a port of their own', async () => {
  const program = fileURLToPath(new URL('./fixtures/cluster.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(found.sort((one, other) => one.rank - other.rank)).toEqual([
    { rank: 0, sum: 3 },
    { rank: 1, sum: 3, second: 'EADDRINUSE' },
    { rank: 2, sum: 3 },
  ]);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const launcher = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
const program = fileURLToPath(new URL('./fixtures/sigterm.ts', import.meta.url));

it('replicas in threads of two processes end a training after the same step on SIGTERM, and go on', async () => {
  const args = [launcher, 'run', '-n', '2', '--no-prefix', '--grace', '100', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line === 'trains') child.kill('SIGTERM');
  }
  await ended;
  const saved = lines.filter((line) => line.startsWith('saves '));
  expect(saved[0]).toMatch(/^saves [\d.,-]+ after \d+ steps$/);
  expect(saved).toEqual(Array(2).fill(saved[0]));
  expect(lines.filter((line) => line === 'ended').length).toBe(2);
});

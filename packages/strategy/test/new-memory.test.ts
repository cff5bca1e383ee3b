import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';

const program = fileURLToPath(new URL('./fixtures/new-memory.mjs', import.meta.url));
// The young generation of a thread grows when calls happen to be slow, and would hide what they leave behind.
const flags = ['--expose-gc', '--max-semi-space-size=1'];

// A busy machine may take a millisecond for each call.
vi.setConfig({ testTimeout: 600_000 });

/** Bytes that each replica's thread has more after so many calls than before. */
async function growthOf(...args: readonly (string | number)[]) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...process.execArgv,
    ...flags,
    program,
    ...args.map(String),
  ]);
  return JSON.parse(stdout) as { heap: number; external: number; buffers: number; handles: number }[];
}

// A number for each of 20,000 calls is 160 kB, a buffer for each of 1,500 more.
describe.each([
  ['small', 20_000],
  ['list', 1_500],
  ['large', 1_500],
] as const)('replicas that never return to the event loop', (kind, calls) => {
  it.each(['into', 'result'])(`keep nothing of ${calls} calls on new memory: ${kind}, %s`, async (results) => {
    const grown = await growthOf('native', kind, results, calls);
    expect(grown).toHaveLength(2);
    for (const { heap, external, buffers, handles } of grown) {
      expect(heap).toBeLessThan(100_000);
      expect(external).toBeLessThan(10_000);
      expect(buffers).toBeLessThan(10_000);
      expect(handles).toBeLessThan(10_000);
    }
  });
});

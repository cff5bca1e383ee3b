import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { engineNames, whyNot } from '../src/engines.js';
import { forms } from '../src/trial.js';

const program = fileURLToPath(new URL('./fixtures/growth.ts', import.meta.url));
// The young generation of a thread grows to 48 MB if calls happen to be slow, and would hide leaks.
const young = '--max-semi-space-size=1';
const flags = ['--expose-gc', young];

// A busy machine may take a millisecond for each of a quarter of a million calls.
vi.setConfig({ testTimeout: 1_200_000 });

/** The megabytes that the process has grown by after these calls, as each rank's thread measures it. */
async function growthOf(...args: readonly (string | number)[]) {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, ...args.map(String)]);
  return JSON.parse(stdout) as { rss: number; heap: number; external: number; buffers: number }[];
}

// If 40 000 calls keep a number each, the heap grows by 0.4 MB. If they leak the smallest allocation of C++, the
// process grows by 1.3 MB.
describe.each(engineNames.filter((name) => whyNot(name) === undefined))('40 000 calls of the %s engine', (engine) => {
  it.each(forms)('do not increase the memory of the process, with call form %s', async (form) => {
    for (const { rss, heap, external, buffers } of await growthOf(engine, form, 'kept', 40_000)) {
      expect(heap).toBeLessThan(0.25);
      expect(external).toBeLessThan(0.1);
      expect(buffers).toBeLessThan(0.1);
      expect(rss).toBeLessThan(1);
    }
  });
});

// An engine must forget memory that is gone: 150 bytes per call would be 3 MB. The allocator alone accounts for up to
// 2.3 MB, for any number of calls.
it.skipIf(whyNot('native') !== undefined).each(forms)(
  'memory that callers no longer reference is released, with call form %s',
  async (form) => {
    for (const { rss, heap, external, buffers } of await growthOf('native', form, 'new', 20_000)) {
      expect(heap).toBeLessThan(0.25);
      expect(external).toBeLessThan(0.1);
      expect(buffers).toBeLessThan(0.1);
      expect(rss).toBeLessThan(3);
    }
  },
);

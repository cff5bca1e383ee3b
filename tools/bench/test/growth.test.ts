import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { engineNames, whyNot } from '../src/engines.js';
import { forms } from '../src/trial.js';

const program = path.resolve(import.meta.dirname, 'fixtures/growth.ts');
const flags = ['--expose-gc', '--import', 'tsx', '--conditions=@coll/source'];
const limit = { timeout: 120_000 };

/** Megabytes that the process has more after so many calls than before, as each rank's thread sees it. */
async function growthOf(...args: readonly (string | number)[]) {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, ...args.map(String)]);
  return JSON.parse(stdout) as { rss: number; heap: number; external: number; buffers: number }[];
}

// A single number kept a call is 0.8 MB after 100 000 of them.
describe.each(engineNames.filter((name) => whyNot(name) === undefined))('100 000 calls of the %s engine', (engine) => {
  it.each(forms)('leave nothing in memory, %s', limit, async (form) => {
    for (const { rss, heap, external, buffers } of await growthOf(engine, form, 'kept', 100_000)) {
      expect(heap).toBeLessThan(0.4);
      expect(external).toBeLessThan(0.1);
      expect(buffers).toBeLessThan(0.1);
      expect(rss).toBeLessThan(8);
    }
  });
});

// What an engine remembers of memory goes with it: some hundred bytes a call would be forty megabytes.
it.skipIf(whyNot('native') !== undefined).each(forms)(
  'forgets memory that callers have forgotten, %s',
  limit,
  async (form) => {
    for (const { rss, heap, external, buffers } of await growthOf('native', form, 'new', 100_000)) {
      expect(heap).toBeLessThan(0.4);
      expect(external).toBeLessThan(0.1);
      expect(buffers).toBeLessThan(0.1);
      expect(rss).toBeLessThan(24);
    }
  },
);

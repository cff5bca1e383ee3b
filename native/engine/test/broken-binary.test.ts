import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
// Threads that warn once for all are started by a thread that has loaded the library.
import '@coll/core';
import { expect, it } from 'vitest';

it('threads log once that the binary cannot be loaded, with the reason of the loader and what to do', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-broken-'));
  const broken = path.join(folder, 'broken.node');
  writeFileSync(broken, 'not a library');
  const env = { ...process.env, COLL_NATIVE_PATH: broken, COLL_ENGINE: '' };
  const start = async () => {
    const thread = new Worker(new URL('./fixtures/warns.js', import.meta.url), { env });
    const [lines] = (await once(thread, 'message')) as [string[]];
    return lines;
  };
  const lines = (await Promise.all([start(), start(), start()])).flat();
  rmSync(folder, { recursive: true });
  const message = `warn: using the wasm engine: native was refused (its binary cannot be loaded; tried COLL_NATIVE_PATH=${broken} (`;
  const advice =
    "unset COLL_NATIVE_PATH, or set it to a binary that can be loaded, or choose this engine: engine: 'wasm'";
  expect(lines).toEqual([expect.stringContaining(message)]);
  expect(lines[0]).toContain(advice);
  expect(lines[0]).toMatch(/broken\.node: .+/);
});

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { kernelModule } from './kernel-module.ts';

it('the compiled kernels match their sources; npm run wasm -w @coll/wasm-kernels updates them', async () => {
  const kept = readFileSync(new URL('../../packages/core/src/wasm/kernel-bytes.ts', import.meta.url), 'utf8');
  // `expect(kept).toBe(made)` would print both long texts on a failure.
  expect(kept === (await kernelModule())).toBe(true);
});

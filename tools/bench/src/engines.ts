import type { Engine, EngineName } from '@coll/core';
import * as core from '@coll/core';

/** What can play schedules, the fastest first. */
export const engineNames = ['native', 'wasm', 'js'] as const satisfies readonly EngineName[];

// Temporary: until both exist.
const wasmEngine = (core as unknown as { wasmEngine?: Engine }).wasmEngine;
const native = await import('@coll/native' as string).then(
  (module) => module.native as Engine,
  () => undefined,
);
const missing = (name: EngineName) =>
  ({ name, probe: () => ({ available: false, reason: 'not written' }) }) as unknown as Engine;

export const engines: Readonly<Record<EngineName, Engine>> = {
  native: native ?? missing('native'),
  wasm: wasmEngine ?? missing('wasm'),
  js: core.jsEngine,
};

/** Why an engine does not work here, for people; undefined where it does. */
export function whyNot(name: EngineName): string | undefined {
  const probed = engines[name].probe();
  return probed.available ? undefined : probed.reason;
}

import { type Engine, type EngineName, jsEngine, wasmEngine } from '@coll/core';
import { native } from '@coll/native';

/** What can play schedules, the fastest first. */
export const engineNames = ['native', 'wasm', 'js'] as const satisfies readonly EngineName[];

export const engines: Readonly<Record<EngineName, Engine>> = { native, wasm: wasmEngine, js: jsEngine };

/** Why an engine does not work here, for people; undefined where it does. */
export function whyNot(name: EngineName): string | undefined {
  const probed = engines[name].probe();
  return probed.available ? undefined : probed.reason;
}

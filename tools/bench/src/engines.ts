import { type Engine, type EngineName, jsEngine, wasmEngine } from '@coll/core';
import { native } from '@coll/native';

/** The engines, the fastest first. */
export const engineNames = ['native', 'wasm', 'js'] as const satisfies readonly EngineName[];

export const engines: Readonly<Record<EngineName, Engine>> = { native, wasm: wasmEngine, js: jsEngine };

/** Why an engine does not work on this machine, for people; undefined if it works. */
export function whyNot(name: EngineName): string | undefined {
  const probed = engines[name].probe();
  return probed.available ? undefined : probed.reason;
}

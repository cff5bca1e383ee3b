import type { PreparedCall } from '@coll/core/plugin';
import type { CallHandle } from '../src/process-binding.js';
import type { ProcessCall } from '../src/process-calls.js';

/** An all-reduce in place, whose native part is its name. */
export function processCallDouble(name: string): PreparedCall<ProcessCall> {
  const known = { data: new Float32Array(4), dtype: 'float32', byteLength: 16 } as const;
  return {
    isKept: true,
    handle: { handle: name as unknown as CallHandle },
    collective: { kind: 'all-reduce', op: 'sum' },
    layout: 0,
    isShared: false,
    request: undefined,
    bytes: 16,
    inputs: [known],
    outputs: [known],
  };
}

/** Takes away its memory. */
export function detach({ inputs }: PreparedCall<ProcessCall>): void {
  structuredClone(undefined, { transfer: [inputs[0]?.data.buffer as ArrayBuffer] });
}

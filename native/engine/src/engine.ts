import { CollError, type Engine } from '@coll/core';
import { requireJoin } from '@coll/core/internal';
import { createThreadGroup } from '@coll/core/plugin';
import { adviceFor, type BindingSearch, describeAttempts, findBinding } from './binding.js';
import { calibration } from './calibration.js';
import type { NativeBinding } from './native-binding.js';
import { NativeCommunicator } from './native-communicator.js';
import { NativeThreadCommunicator } from './native-thread-communicator.js';
import { listOf } from './thresholds.js';

/**
 * Engine that executes collectives in C++, directly in the callers' buffers and on all
 * participating threads. Available on platforms for which there is a binary.
 *
 * @example
 * ```ts
 * import { resolveEngine, tensor } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 * import { native } from '@coll/native';
 *
 * // Takes another engine on a platform without a binary.
 * const { engine } = resolveEngine('auto', [native]);
 * const communicator = engine.communicator(2, directAlgorithm());
 * const buffers = [tensor(new Float32Array([1, 2])), tensor(new Float32Array([3, 4]))];
 * communicator.runSync({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(2) [ 4, 6 ]
 * ```
 */
export const native: Engine = {
  name: 'native',
  get simd() {
    const found = search();
    return 'binding' in found ? found.binding.simd : undefined;
  },
  probe() {
    const found = search();
    if ('binding' in found) return { available: true };
    return { available: false, reason: reasonOf(found), advice: adviceFor(found.attempts) };
  },
  communicator: (size, algorithm) => new NativeCommunicator(nativeBinding(), size, algorithm),
  createGroup(options) {
    const group = createThreadGroup(options);
    const binding = nativeBinding();
    const board = new SharedArrayBuffer(binding.boardBytes(group.size));
    return { ...group, engine: 'native', board, thresholds: listOf(calibration(binding).thresholds) };
  },
  join(group, request) {
    requireJoin(group, request);
    return new NativeThreadCommunicator(nativeBinding(), native, group, request);
  },
};

let searched: BindingSearch | undefined;

function search(): BindingSearch {
  searched ??= findBinding();
  return searched;
}

function reasonOf(found: Exclude<BindingSearch, { binding: NativeBinding }>): string {
  const what = found.attempts.every(({ isMissing }) => isMissing)
    ? 'its binary is missing'
    : 'its binary cannot be loaded';
  return `${what}; tried ${describeAttempts(found.attempts)}`;
}

/**
 * Returns the C++ addon of this package.
 * @throws CollError that says why the addon cannot be loaded
 */
export function nativeBinding(): NativeBinding {
  const found = search();
  if ('binding' in found) return found.binding;
  throw new CollError('ERR_COLL_NO_ENGINE', `the native engine is unavailable: ${reasonOf(found)}`);
}

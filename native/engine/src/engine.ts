import type { Engine } from '@coll/core';
import { requireJoin } from '@coll/core/internal';
import { createThreadGroup } from '@coll/core/plugin';
import { adviceFor } from './binding.js';
import { calibration } from './calibration.js';
import { nativeBinding, reasonOf, searchBinding } from './loaded-binding.js';
import { NativeCommunicator } from './native-communicator.js';
import { NativeThreadCommunicator } from './native-thread-communicator.js';
import { openRecord } from './record/open-record.js';
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
    const found = searchBinding();
    return 'binding' in found ? found.binding.simd : undefined;
  },
  probe() {
    const found = searchBinding();
    if ('binding' in found) return { available: true };
    return { available: false, reason: reasonOf(found), advice: adviceFor(found.attempts) };
  },
  communicator(size, algorithm) {
    openRecord();
    return new NativeCommunicator(nativeBinding(), size, algorithm);
  },
  createGroup(options) {
    const group = createThreadGroup(options);
    const binding = nativeBinding();
    const board = new SharedArrayBuffer(binding.boardBytes(group.size));
    return { ...group, engine: 'native', board, thresholds: listOf(calibration(binding).thresholds) };
  },
  join(group, request) {
    requireJoin(group, request);
    openRecord();
    return new NativeThreadCommunicator(nativeBinding(), native, group, request);
  },
};

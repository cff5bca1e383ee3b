import type { Engine } from '../runtime/engine.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';
import { JsCommunicator } from './js-communicator.js';

/**
 * The engine in plain JavaScript, which works everywhere.
 *
 * @example
 * ```ts
 * import { jsEngine, tensor } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const communicator = jsEngine.communicator(2, directAlgorithm());
 * const buffers = [tensor(new Float32Array([1, 2])), tensor(new Float32Array([3, 4]))];
 * communicator.runSync({ kind: 'all-reduce', op: 'mean' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(2) [ 2, 3 ]
 * ```
 */
export const jsEngine: Engine = {
  name: 'js',
  probe: () => ({ available: true }),
  communicator: (size, algorithm) => new JsCommunicator(size, algorithm),
  createGroup: (options) => createThreadGroup(options),
  join: (group, request) => new ThreadCommunicator(group, request),
};

import type { Engine } from '../engine.js';
import { PortableCommunicator } from '../portable/portable-communicator.js';
import { ThreadCommunicator } from './thread-communicator.js';
import { createThreadGroup } from './thread-group.js';

/** Plain JavaScript: works everywhere, and is what the other engines are compared with. */
export const jsEngine: Engine = {
  name: 'js',
  probe: () => ({ available: true }),
  communicator: (size, algorithm) => new PortableCommunicator({ size, algorithm }),
  createGroup: (options) => createThreadGroup(options),
  join: (group, request) => new ThreadCommunicator(group, request),
};

import type { Engine } from '../engines/engine.js';
import { ThreadCommunicator } from '../threads/thread-communicator.js';
import { createThreadGroup } from '../threads/thread-group.js';
import { JsCommunicator } from './js-communicator.js';

/** Plain JavaScript: works everywhere. */
export const jsEngine: Engine = {
  name: 'js',
  probe: () => ({ available: true }),
  communicator: (size, algorithm) => new JsCommunicator(size, algorithm),
  createGroup: (options) => createThreadGroup(options),
  join: (group, request) => new ThreadCommunicator(group, request),
};

import type { Host } from '@coll/core/internal';
import type { Loading } from './node/module-loading.js';
import { nodeHost } from './node/node-host.js';

/** The host of strategies: Node.js. The entry `replica-thread` lies beside this module, or beside what it is built into. */
export const host: Host<Loading> = nodeHost(import.meta.url);

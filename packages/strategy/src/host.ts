import type { Engine } from '@coll/core';
import type { Host } from '@coll/core/internal';
import { native } from '@coll/native';
import type { Loading } from './node/module-loading.js';
import { nodeHost } from './node/node-host.js';

export { availableCores, findMachine } from '@coll/native/machine';
export { openRecord } from '@coll/native/record';
export { hasStallReader, stallSecondsFrom } from '@coll/rendezvous/internal';

/** The host of strategies: Node.js. The entry `replica-thread` lies beside this module, or beside what it is built into. */
export const host: Host<Loading> = nodeHost(import.meta.url);

/** The engines of the host, which strategies use in addition to those of core, without registration. */
export const ourEngines: readonly Engine[] = [native];

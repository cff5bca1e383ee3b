import { registry } from '@coll/core';
import { collective, multiWorker } from './plugin.js';

registry.register(multiWorker);
registry.register(collective);

import { registry } from '@coll/core';
import { multiWorker } from './plugin.js';

registry.register(multiWorker);

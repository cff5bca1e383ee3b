import { registry } from '@coll/core';
import { nccl } from './plugin.js';

registry.register(nccl);

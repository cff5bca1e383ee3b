import { registry } from '@coll/core';
import { reductionToOne } from './plugin.js';

registry.register(reductionToOne);

import { registry } from '@coll/core';
import { direct } from './plugin.js';

registry.register(direct);

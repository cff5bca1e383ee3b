import { registry } from '@coll/core';
import { ring } from './plugin.js';

registry.register(ring);

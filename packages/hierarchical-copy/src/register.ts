import { registry } from '@coll/core';
import { hierarchicalCopy } from './plugin.js';

registry.register(hierarchicalCopy);

import { registry } from '@coll/core';
import { mpi } from './plugin.js';

registry.register(mpi);

import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

const processes = await processGroups({ transport: 'tcp' });
afterAll(() => processes.close());

executorSuite({ test: it, describe, name: 'processes over tcp', open: processes.open, algorithms });

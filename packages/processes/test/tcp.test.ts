import { executorSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { algorithms } from './algorithms.ts';
import { processGroups } from './process-groups.ts';

const processes = await processGroups({ transport: 'tcp' });
afterAll(() => processes.close());

const test = (name: string, run: () => void | Promise<void>) => it(name, run, 60_000);

executorSuite({ test, describe, name: 'processes over tcp', open: processes.open, algorithms });

import { setLogSink } from '@coll/core';
import { type Gpu, gpus } from '@coll/nccl';
import { afterAll, beforeAll } from 'vitest';

/** The GPUs, which are there when the tests of a suite run; what is logged meanwhile is not printed. */
export function quietGpus(): readonly Gpu[] {
  const all: Gpu[] = [];
  beforeAll(() => {
    all.push(...gpus());
    setLogSink(() => undefined);
  });
  afterAll(() => setLogSink());
  return all;
}

import type { TestProject } from 'vitest/node';
import { buildFirst } from './build-first.ts';

/** Builds what the tests of this project load: @coll/nccl, and test doubles of CUDA and NCCL. */
export const setup = (project: TestProject): void =>
  buildFirst(project, process.execPath, ['native/nccl/build.mjs', 'doubles']);

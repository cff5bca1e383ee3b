import type { TestProject } from 'vitest/node';
import { buildFirst } from './build-first.ts';

/** Builds what the tests of this project load: @coll/mpi, and a test double of an MPI library. */
export const setup = (project: TestProject): void =>
  buildFirst(project, process.execPath, ['native/mpi/build.mjs', 'doubles']);
